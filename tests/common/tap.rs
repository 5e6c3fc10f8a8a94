//! A client that forwards requests, records them, and can modify or answer them like a proxy.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

/// A list or watch of config maps, as sent by the client.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRequest {
    pub(crate) at: Instant,
    parameters: Vec<(String, String)>,
}

/// Paused time passes only while all tasks are idle, so a hot loop would never end. After this many requests
/// there is no response, so that the test can count them.
const MOST: usize = 3_000;

type RequestHook = Box<dyn FnMut(&RecordedRequest, &mut Request<Body>) -> Option<Response<Body>> + Send>;

/// Records and forwards requests.
pub(crate) struct Tap {
    asked: watch::Sender<Vec<RecordedRequest>>,
    proxy: Mutex<Option<RequestHook>>,
}

impl Tap {
    /// Returns a client whose requests are recorded.
    pub(crate) fn on(client: Client) -> (Client, Arc<Tap>) {
        let tap = Arc::new(Tap {
            asked: watch::Sender::default(),
            proxy: Mutex::default(),
        });
        let inside = Arc::clone(&tap);
        let service = tower::service_fn(move |request: Request<Body>| {
            let (tap, client) = (Arc::clone(&inside), client.clone());
            async move {
                let mut request = request;
                if tap.asked.borrow().len() > MOST {
                    std::future::pending::<()>().await;
                }
                match tap.pass(&mut request) {
                    Some(answer) => Ok(answer),
                    None => client.send(request).await,
                }
            }
        });
        (Client::new(service, "default"), tap)
    }

    fn pass(&self, request: &mut Request<Body>) -> Option<Response<Body>> {
        let is_collection = request.uri().path().ends_with("/configmaps");
        if request.method() != http::Method::GET || !is_collection {
            return None;
        }
        let asked = RecordedRequest::of(request);
        self.asked.send_modify(|all| all.push(asked.clone()));
        let mut proxy = self.proxy.lock();
        proxy.as_mut()?(&asked, request)
    }

    /// Adds a hook that can modify or answer each list or watch.
    pub(crate) fn proxy(
        &self,
        proxy: impl FnMut(&RecordedRequest, &mut Request<Body>) -> Option<Response<Body>> + Send + 'static,
    ) {
        *self.proxy.lock() = Some(Box::new(proxy));
    }

    /// Answers the first request of each given name, in this order. Other requests are forwarded.
    pub(crate) fn answer(&self, script: impl IntoIterator<Item = (&'static str, Response<Body>)>) {
        let mut script: Vec<_> = script.into_iter().collect();
        self.proxy(move |asked, _| {
            let first = script.first()?;
            (asked.to_string() == first.0).then(|| script.remove(0).1)
        });
    }

    /// Returns all lists and watches so far.
    pub(crate) fn all(&self) -> Vec<RecordedRequest> {
        self.asked.borrow().clone()
    }

    /// Returns all lists and watches so far, formatted.
    pub(crate) fn words(&self) -> Vec<String> {
        self.asked.borrow().iter().map(ToString::to_string).collect()
    }

    /// Returns the number of requests whose name starts like this.
    pub(crate) fn count(&self, begin: &str) -> usize {
        self.words().iter().filter(|word| word.starts_with(begin)).count()
    }

    /// Waits until this many requests were sent.
    pub(crate) async fn wait_for(&self, requests: usize, patience: Duration) {
        let mut asked = self.asked.subscribe();
        let enough = tokio::time::timeout(patience, asked.wait_for(|all| all.len() >= requests)).await;
        assert!(enough.is_ok(), "only {:?} were requested", self.words());
    }
}

impl RecordedRequest {
    fn of(request: &Request<Body>) -> RecordedRequest {
        let pairs = request.uri().query().unwrap_or_default().split('&');
        let parameters = pairs.filter_map(|pair| pair.split_once('='));
        RecordedRequest {
            at: Instant::now(),
            parameters: parameters.map(|(n, v)| (n.to_owned(), v.to_owned())).collect(),
        }
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let mut parameters = self.parameters.iter();
        parameters
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn is_list(&self) -> bool {
        self.parameter("watch").is_none()
    }

    pub(crate) fn is_streaming_list(&self) -> bool {
        self.parameter("sendInitialEvents").is_some()
    }

    pub(crate) fn is_plain_watch(&self) -> bool {
        !self.is_list() && !self.is_streaming_list()
    }

    /// Returns the requested version, if it is a number.
    pub(crate) fn version(&self) -> Option<u64> {
        self.parameter("resourceVersion")?.parse().ok()
    }
}

/// Formats the request, its version and limit: `list any 500`, `list last`, `page 500`, `stream newest`,
/// `watch last`.
impl fmt::Display for RecordedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            _ if self.parameter("continue").is_some() => "page",
            _ if self.is_list() => "list",
            _ if self.is_streaming_list() => "stream",
            _ => "watch",
        })?;
        match self.parameter("resourceVersion") {
            _ if self.parameter("continue").is_some() => {}
            Some("0") => f.write_str(" any")?,
            Some("") | None => f.write_str(" newest")?,
            Some(_) => f.write_str(" last")?,
        }
        match self.parameter("limit") {
            Some(limit) => write!(f, " {limit}"),
            None => Ok(()),
        }
    }
}

/// Returns a response with any content.
pub(crate) fn answer(code: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Response<Body> {
    Response::builder()
        .status(code)
        .header("content-type", content_type)
        .body(Body::from(body.into()))
        .expect("a valid response")
}

/// Returns a failure in the format of API servers.
pub(crate) fn failure(code: u16, reason: &str, message: &str) -> Response<Body> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code, "reason": reason, "message": message,
    });
    answer(code, "application/json", status.to_string())
}
