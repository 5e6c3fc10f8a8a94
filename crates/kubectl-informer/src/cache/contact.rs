//! Whether the server is there, told once when it goes and once when it is back.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube_informer::Error;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::failure::chain;
use crate::print::notes::Notes;

/// What is known of the server, from the failures and answers of all caches together.
#[derive(Debug)]
pub(crate) struct Contact {
    notes: Arc<Notes>,
    state: Mutex<State>,
    hopeless: watch::Sender<Option<Error>>,
}

#[derive(Debug, Default)]
struct State {
    /// The resources that have no contact.
    lost: BTreeSet<String>,
    since: Option<Instant>,
    /// The resources whose caches were full once.
    synced: BTreeSet<String>,
    /// What was said last, so that it is not said again and again.
    said: String,
}

impl Contact {
    pub(crate) fn new(notes: Arc<Notes>) -> Contact {
        Contact {
            notes,
            state: Mutex::default(),
            hopeless: watch::Sender::new(None),
        }
    }

    /// A request of an informer had no good answer.
    pub(super) fn unanswered(&self, resource: &str, error: &Error) {
        let mut state = self.state.lock();
        let is_lost = error.is_connection() || error.server_status().is_some();
        if !is_lost || is_part_of_life(error) || state.is_hopeless(resource, error) {
            return;
        }
        let is_first = state.lost.is_empty();
        state.lost.insert(resource.to_owned());
        if is_first {
            state.since = Some(Instant::now());
            self.notes
                .say(&format!("lost contact: {}; trying again", chain(error)));
        }
    }

    /// An informer told an error. Whether the server is there shows with the next request: a watch may break and go on.
    pub(super) fn told(&self, resource: &str, error: &Error) {
        let mut state = self.state.lock();
        if state.is_hopeless(resource, error) {
            self.hopeless.send_replace(Some(error.clone()));
        } else if error.is_bad_data()
            || error.is_going_back()
            || error.is_not_served()
            || error.is_user_code()
        {
            let words = chain(error);
            if words != state.said {
                self.notes.say(&words);
                state.said = words;
            }
        }
    }

    /// The server answered a request of an informer.
    pub(super) fn answered(&self, resource: &str) {
        let mut state = self.state.lock();
        if state.lost.remove(resource) && state.lost.is_empty() {
            let away = state.since.take().map_or(0, |since| since.elapsed().as_secs());
            self.notes.say(&format!("contact is back after {away} s"));
        }
    }

    /// The cache of a resource was filled.
    pub(super) fn synced(&self, resource: &str) {
        self.state.lock().synced.insert(resource.to_owned());
    }

    /// Waits for a failure that waiting does not mend.
    pub(super) async fn hopeless(&self) -> Error {
        let mut hopeless = self.hopeless.subscribe();
        loop {
            if let Some(error) = hopeless.borrow_and_update().clone() {
                return error;
            }
            if hopeless.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl State {
    /// Whether the cache of a resource will never be filled: the same request would fail in the same way for ever, because
    /// it is not allowed or not understood.
    fn is_hopeless(&self, resource: &str, error: &Error) -> bool {
        let refused = error.server_status().is_some_and(|status| {
            (400..500).contains(&status.code) && !matches!(status.code, 408 | 409 | 410 | 429)
        });
        !self.synced.contains(resource) && (refused || error.is_not_served())
    }
}

/// What informers deal with all the time, and nobody needs to know.
fn is_part_of_life(error: &Error) -> bool {
    error.is_expired() || error.is_no_streaming_list() || error.is_behind()
}
