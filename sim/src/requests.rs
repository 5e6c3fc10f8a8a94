//! Contract 9: the requests of an informer, separately for each reflector.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use bytes::Bytes;
use contract_checker::Findings;
use http::{Request, Response};
use http_body::Frame;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Time window in which requests are counted.
const WINDOW: Duration = Duration::from_secs(10);
/// Maximum number of lists and watches that a reflector starts in the window.
const MOST_REQUESTS: usize = 24;
/// The backoff of informers, without jitter.
const FIRST_WAIT: Duration = Duration::from_millis(800);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A shorter pause is not a wait: the request replaced one that failed.
const SHORTEST_WAIT: Duration = Duration::from_millis(500);
/// Maximum number of requests that replace failed ones without a wait.
const FALLBACKS: u32 = 2;
/// A streaming list that is open for longer was a healthy watch.
const HEALTHY: Duration = Duration::from_mins(2);

/// Maximum duration of a comparison of the cache with the server.
const LONGEST_COMPARISON: Duration = Duration::from_mins(6);
/// Query of the requests of a comparison with the server.
const EXACT: &str = "resourceVersionMatch=Exact";

/// The requests of one informer.
#[derive(Debug)]
pub(crate) struct RequestChecker {
    name: String,
    findings: Arc<Findings>,
    /// By path: an informer of several namespaces has a reflector for each.
    reflectors: Mutex<BTreeMap<String, Reflector>>,
}

#[derive(Debug, Default)]
struct Reflector {
    recent: VecDeque<Instant>,
    busiest: usize,
    /// The last comparison with the server, whose pages look like those of a list.
    compared: Option<Instant>,
    /// Lists and streaming lists that started since the last watch. All but the last have failed.
    failures: FailureStreak,
}

#[derive(Debug, Default)]
struct FailureStreak {
    /// The end of the last one.
    ended: Option<Instant>,
    waits: u32,
    fallbacks: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    List,
    StreamingList,
    Watch,
}

impl RequestChecker {
    pub(crate) fn new(name: &str, findings: &Arc<Findings>) -> Arc<RequestChecker> {
        Arc::new(RequestChecker {
            name: name.to_owned(),
            findings: Arc::clone(findings),
            reflectors: Mutex::default(),
        })
    }

    /// Returns a client whose requests are checked.
    pub(crate) fn client(self: &Arc<Self>, client: Client) -> Client {
        let this = Arc::clone(self);
        let service = tower::service_fn(move |request: Request<Body>| {
            let (this, client) = (Arc::clone(&this), client.clone());
            async move { this.send(client, request).await }
        });
        Client::new(service, "default")
    }

    /// Returns the maximum number of requests of one reflector in ten seconds.
    pub(crate) fn busiest(&self) -> u64 {
        let reflectors = self.reflectors.lock();
        reflectors
            .values()
            .map(|reflector| reflector.busiest as u64)
            .max()
            .unwrap_or_default()
    }

    async fn send(
        self: Arc<Self>,
        client: Client,
        request: Request<Body>,
    ) -> Result<Response<ObservedBody>, Failure> {
        let Some(operation) = operation(&request) else {
            if request.uri().query().is_some_and(|query| query.contains(EXACT)) {
                let mut reflectors = self.reflectors.lock();
                reflectors
                    .entry(request.uri().path().to_owned())
                    .or_default()
                    .compared = Some(Instant::now());
            }
            let response = client.send(request).await.map_err(cause)?;
            return Ok(response.map(|body| ObservedBody { body, _end: None }));
        };
        let path = request.uri().path().to_owned();
        let query = request.uri().query().unwrap_or_default();
        if !query.contains("continue=") {
            self.begun(&path, operation);
        }
        let end = EndGuard {
            checker: self,
            path,
            operation,
            began: Instant::now(),
        };
        let response = client.send(request).await.map_err(cause)?;
        Ok(response.map(|body| ObservedBody {
            body,
            _end: Some(end),
        }))
    }

    fn begun(&self, path: &str, operation: Operation) {
        let now = Instant::now();
        let mut reflectors = self.reflectors.lock();
        let reflector = reflectors.entry(path.to_owned()).or_default();
        reflector.recent.push_back(now);
        while reflector
            .recent
            .front()
            .is_some_and(|first| now.duration_since(*first) >= WINDOW)
        {
            reflector.recent.pop_front();
        }
        let recent = reflector.recent.len();
        reflector.busiest = reflector.busiest.max(recent);
        if recent > MOST_REQUESTS {
            self.found(path, &format!("{recent} requests in {WINDOW:?}"));
        }
        let is_compared = reflector
            .compared
            .is_some_and(|at| now.duration_since(at) < LONGEST_COMPARISON);
        if is_compared || operation == Operation::Watch {
            reflector.failures = FailureStreak::default();
            return;
        }
        if let Some(problem) = reflector.failures.begun(now) {
            self.found(path, &problem);
        }
    }

    fn ended(&self, path: &str, operation: Operation, began: Instant) {
        let now = Instant::now();
        let mut reflectors = self.reflectors.lock();
        let Some(reflector) = reflectors.get_mut(path) else {
            return;
        };
        let failures = &mut reflector.failures;
        if operation == Operation::StreamingList && now.duration_since(began) > HEALTHY {
            *failures = FailureStreak::default();
        } else if operation != Operation::Watch {
            failures.ended = Some(now);
        }
    }

    fn found(&self, path: &str, problem: &str) {
        self.findings
            .add(9, &self.name, format_args!("{path}: {problem}"));
    }
}

impl FailureStreak {
    /// Records the start of another list, so the one before has failed. Waits must grow until there were two
    /// healthy minutes.
    fn begun(&mut self, now: Instant) -> Option<String> {
        let pause = now.duration_since(self.ended?);
        if pause < SHORTEST_WAIT {
            self.fallbacks += 1;
            let fallbacks = self.fallbacks;
            return (fallbacks > FALLBACKS)
                .then(|| format!("{fallbacks} lists after failures without a wait"));
        }
        self.fallbacks = 0;
        self.waits += 1;
        let wanted = FIRST_WAIT
            .saturating_mul(1 << (self.waits - 1).min(10))
            .min(LONGEST_WAIT);
        let is_short = pause + Duration::from_millis(20) < wanted;
        is_short.then(|| {
            let waits = self.waits;
            format!("only {pause:?} before list {waits} after a failure, less than {wanted:?}")
        })
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn cause(error: kube::Error) -> Failure {
    match error {
        kube::Error::Service(cause) => cause,
        error => error.into(),
    }
}

fn operation(request: &Request<Body>) -> Option<Operation> {
    let uri = request.uri();
    let is_collection = uri.path().ends_with("/configmaps") || uri.path().ends_with("/widgets");
    let query = uri.query().unwrap_or_default();
    if !is_collection || query.contains(EXACT) {
        return None;
    }
    Some(if query.contains("sendInitialEvents=true") {
        Operation::StreamingList
    } else if query.contains("watch=") {
        Operation::Watch
    } else {
        Operation::List
    })
}

/// Records the end of a request when it is dropped.
struct EndGuard {
    checker: Arc<RequestChecker>,
    path: String,
    operation: Operation,
    began: Instant,
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.checker.ended(&self.path, self.operation, self.began);
    }
}

/// The body of a response. The request ends when the body ends or is dropped.
struct ObservedBody {
    body: Body,
    _end: Option<EndGuard>,
}

impl http_body::Body for ObservedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        frame.map(|frame| frame.map(|frame| frame.map_err(io::Error::other)))
    }
}
