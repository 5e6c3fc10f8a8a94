//! Records requests for assertions.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::request::Verb;

/// Maximum number of recorded requests.
const MAX_REQUESTS: usize = 100_000;

/// A recorded request and the status of its response.
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
    /// Position in the order of arrival, from 0.
    pub number: usize,
    /// Time of arrival, on tokio's clock.
    pub at: Instant,
    /// Verb of a request about objects.
    pub verb: Option<Verb>,
    /// Plural name of the resource; empty for requests that are not about one.
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
    /// Name of the user, with [`Authorization::Rbac`](crate::Authorization::Rbac); the impersonated one if the request
    /// impersonates. `None` if authentication failed.
    pub user: Option<String>,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The `Accept` header.
    pub accept: String,
    /// Number of the connection, from 1; 0 for a client without a socket.
    pub connection: u64,
    /// HTTP version, for example `HTTP/1.1` or `HTTP/2.0`.
    pub http_version: String,
    /// HTTP status of the response; `None` before the response, or if the connection was dropped instead.
    pub status: Option<u16>,
    /// The injected faults.
    pub faults: Vec<String>,
}

impl Request {
    /// Returns the value of a query parameter.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }

    /// Returns whether it is a streaming list: a watch that requests the initial objects as events.
    pub fn is_streaming_list(&self) -> bool {
        self.verb == Some(Verb::Watch) && self.param("sendInitialEvents").is_some_and(|v| v != "false")
    }
}

/// The recorded requests.
#[derive(Debug, Default)]
pub(crate) struct Record {
    state: Mutex<RecordState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct RecordState {
    requests: VecDeque<Arc<Request>>,
    total: usize,
    connections: u64,
}

impl Record {
    /// Adds a request and returns its number.
    pub(crate) fn add(&self, mut request: Request) -> usize {
        let mut state = self.state.lock();
        request.number = state.total;
        state.total += 1;
        if state.requests.len() == MAX_REQUESTS {
            state.requests.pop_front();
        }
        let number = request.number;
        state.requests.push_back(Arc::new(request));
        drop(state);
        self.changed.notify_waiters();
        number
    }

    /// Updates a recorded request.
    pub(crate) fn update(&self, number: usize, change: impl FnOnce(&mut Request)) {
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

    /// Counts a connection and returns its number.
    pub(crate) fn count_connection(&self) -> u64 {
        let mut state = self.state.lock();
        state.connections += 1;
        state.connections
    }

    /// Returns the number of connections.
    pub(crate) fn connections(&self) -> u64 {
        self.state.lock().connections
    }

    pub(crate) fn all(&self) -> Vec<Arc<Request>> {
        self.state.lock().requests.iter().cloned().collect()
    }

    pub(crate) fn clear(&self) {
        self.state.lock().requests.clear();
    }

    /// Waits for a recorded request that satisfies `wanted`.
    pub(crate) async fn wait_for(&self, wanted: impl Fn(&Request) -> bool) -> Arc<Request> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the check, so that no change is missed.
            changed.as_mut().enable();
            if let Some(found) = self.state.lock().requests.iter().find(|r| wanted(r)) {
                return found.clone();
            }
            changed.await;
        }
    }
}
