//! Reports once when the connection to the server is lost, and once when it is restored.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube_informer::Error;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::failure::chain;
use crate::print::messages::Messages;

/// Tracks the connection to the server, by the results of the requests of all caches.
#[derive(Debug)]
pub(crate) struct ConnectionMonitor {
    messages: Arc<Messages>,
    state: Mutex<State>,
    fatal: watch::Sender<Option<Error>>,
}

#[derive(Debug, Default)]
struct State {
    /// The resources whose last request failed.
    lost: BTreeSet<String>,
    since: Option<Instant>,
    /// The resources whose caches have synced.
    synced: BTreeSet<String>,
    /// The last message, so that it is not repeated.
    last_message: String,
}

impl ConnectionMonitor {
    pub(crate) fn new(messages: Arc<Messages>) -> ConnectionMonitor {
        ConnectionMonitor {
            messages,
            state: Mutex::default(),
            fatal: watch::Sender::new(None),
        }
    }

    /// Reports a failed request of an informer.
    pub(super) fn request_failed(&self, resource: &str, error: &Error) {
        let mut state = self.state.lock();
        let is_lost = error.is_connection() || error.server_status().is_some();
        if !is_lost || is_expected(error) || state.is_fatal(resource, error) {
            return;
        }
        let is_first = state.lost.is_empty();
        state.lost.insert(resource.to_owned());
        if is_first {
            state.since = Some(Instant::now());
            self.messages
                .print(&format!("lost connection: {}; retrying", chain(error)));
        }
    }

    /// Reports an error of an informer. The next request shows whether the connection is lost: a watch may
    /// break and resume.
    pub(super) fn informer_failed(&self, resource: &str, error: &Error) {
        let mut state = self.state.lock();
        if state.is_fatal(resource, error) {
            self.fatal.send_replace(Some(error.clone()));
        } else if error.is_bad_data()
            || error.is_going_back()
            || error.is_not_served()
            || error.is_user_code()
        {
            let message = chain(error);
            if message != state.last_message {
                self.messages.print(&message);
                state.last_message = message;
            }
        }
    }

    /// Reports a successful request of an informer.
    pub(super) fn request_succeeded(&self, resource: &str) {
        let mut state = self.state.lock();
        if state.lost.remove(resource) && state.lost.is_empty() {
            let seconds = state.since.take().map_or(0, |since| since.elapsed().as_secs());
            self.messages.print(&format!("reconnected after {seconds}s"));
        }
    }

    /// Reports that the cache of a resource has synced.
    pub(super) fn synced(&self, resource: &str) {
        self.state.lock().synced.insert(resource.to_owned());
    }

    /// Waits for a failure that retries cannot fix.
    pub(super) async fn fatal(&self) -> Error {
        let mut fatal = self.fatal.subscribe();
        loop {
            if let Some(error) = fatal.borrow_and_update().clone() {
                return error;
            }
            if fatal.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl State {
    /// Returns whether the cache of a resource can never sync, because its request is forbidden or invalid.
    fn is_fatal(&self, resource: &str, error: &Error) -> bool {
        let refused = error.server_status().is_some_and(|status| {
            (400..500).contains(&status.code) && !matches!(status.code, 408 | 409 | 410 | 429)
        });
        !self.synced.contains(resource) && (refused || error.is_not_served())
    }
}

/// Returns whether the error is part of normal operation.
fn is_expected(error: &Error) -> bool {
    error.is_expired() || error.is_no_streaming_list() || error.is_behind()
}
