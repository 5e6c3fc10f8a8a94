//! The record of what clients asked, for assertions.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::request::Verb;

/// How many requests are remembered.
const KEPT: usize = 100_000;

/// One request as it arrived, and how it was answered.
///
/// ```
/// # use kube_embedded::{Server, Verb};
/// # async fn example(server: &Server) {
/// let watch = server.wait_for_request(|r| r.verb == Some(Verb::Watch) && r.resource == "pods").await;
/// assert_eq!(watch.param("allowWatchBookmarks"), Some("true"));
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Request {
    /// Place in the order of arrival, from 0.
    pub number: usize,
    /// When it arrived, on tokio's clock.
    pub at: Instant,
    /// What was asked, for requests about objects.
    pub verb: Option<Verb>,
    /// Plural name of the resource, empty for requests that are not about one.
    pub resource: String,
    /// API group of the resource.
    pub group: String,
    /// Namespace in the path.
    pub namespace: Option<String>,
    /// Name of the object in the path.
    pub name: Option<String>,
    /// Subresource in the path, such as `status`.
    pub subresource: Option<String>,
    /// HTTP method.
    pub method: String,
    /// Path without query.
    pub path: String,
    /// Parameters, decoded, in their order.
    pub query: Vec<(String, String)>,
    /// Name of the user, with [`Authorization::Rbac`](crate::Authorization::Rbac): of the impersonated one if the request
    /// impersonates. `None` if it was refused for its credentials.
    pub user: Option<String>,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The `Accept` header.
    pub accept: String,
    /// Number of the connection it came over, from 1; 0 for a client without a socket.
    pub connection: u64,
    /// `HTTP/1.1`, `HTTP/2.0`.
    pub http_version: String,
    /// HTTP status of the answer; `None` until there is one, or where the connection was dropped instead.
    pub status: Option<u16>,
    /// The faults that were put upon it.
    pub faults: Vec<String>,
}

impl Request {
    /// The value of a parameter.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }

    /// Returns whether it is a watch that asks for the initial objects as events (a streaming list).
    pub fn is_streaming_list(&self) -> bool {
        self.verb == Some(Verb::Watch) && self.param("sendInitialEvents").is_some_and(|v| v != "false")
    }
}

/// All requests so far.
#[derive(Debug, Default)]
pub(crate) struct Record {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    requests: VecDeque<Arc<Request>>,
    total: usize,
    connections: u64,
}

impl Record {
    /// Takes in a request and gives it its number.
    pub(crate) fn arrived(&self, mut request: Request) -> usize {
        let mut state = self.state.lock();
        request.number = state.total;
        state.total += 1;
        if state.requests.len() == KEPT {
            state.requests.pop_front();
        }
        let number = request.number;
        state.requests.push_back(Arc::new(request));
        drop(state);
        self.changed.notify_waiters();
        number
    }

    /// Completes what is known about a request.
    pub(crate) fn amend(&self, number: usize, change: impl FnOnce(&mut Request)) {
        let mut state = self.state.lock();
        let first = state.total - state.requests.len();
        if let Some(request) = number
            .checked_sub(first)
            .and_then(|at| state.requests.get_mut(at))
        {
            change(Arc::make_mut(request));
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Gives a new connection its number.
    pub(crate) fn connected(&self) -> u64 {
        let mut state = self.state.lock();
        state.connections += 1;
        state.connections
    }

    /// How many connections there have been.
    pub(crate) fn connections(&self) -> u64 {
        self.state.lock().connections
    }

    pub(crate) fn all(&self) -> Vec<Arc<Request>> {
        self.state.lock().requests.iter().cloned().collect()
    }

    pub(crate) fn clear(&self) {
        self.state.lock().requests.clear();
    }

    /// Waits until a remembered request satisfies `wanted`.
    pub(crate) async fn wait_for(&self, wanted: impl Fn(&Request) -> bool) -> Arc<Request> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before looking, so that nothing that comes in between is missed.
            changed.as_mut().enable();
            if let Some(found) = self.state.lock().requests.iter().find(|r| wanted(r)) {
                return found.clone();
            }
            changed.await;
        }
    }
}
