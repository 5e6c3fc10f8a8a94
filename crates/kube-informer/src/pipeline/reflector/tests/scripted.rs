//! A source of objects that plays a script, and records the requests and deltas of a driver.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, ErrorChain, Operation};
use crate::object::format::{Allocation, Value};
use crate::object::{Entry, ResourceVersion, WatchedResource};
use crate::pipeline::queue::{self, DeltaReceiver};
use crate::pipeline::reflector::driver::{Activity, Context, Driver};
use crate::pipeline::reflector::machine::Settings;
use crate::pipeline::reflector::{Delta, Scope};
use crate::pipeline::store::Seed;
use crate::pipeline::wire::{
    ListPart, ListRequest, ListStream, ListWatch, RawObject, WatchEvent, WatchRequest, WatchStream,
};

/// The responses of a source, one for each request. Requests beyond the script get no response.
#[derive(Default)]
pub(super) struct Script {
    answers: Mutex<VecDeque<ScriptResponse>>,
    requests: Mutex<Vec<String>>,
    open: Arc<OpenRequests>,
    timeouts: Mutex<Vec<Duration>>,
    began: Mutex<Option<Instant>>,
    /// Requests that do not match the script. They do not panic, because the driver catches panics of a
    /// source.
    unexpected: Mutex<Vec<String>>,
}

impl Drop for Script {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check();
        }
    }
}

enum ScriptResponse {
    List(Vec<ScriptStep<ListPart<ConfigMap>>>),
    Watch(Vec<ScriptStep<WatchEvent<ConfigMap>>>),
    Fails(Error),
    Served(bool),
    Never,
}

/// A step of a response.
pub(super) enum ScriptStep<T> {
    Part(T),
    Error(Error),
    Pause(Duration),
    /// No further parts are sent, and the connection stays open.
    Silence,
    /// This number of parts without a pause.
    Many(usize, fn() -> T),
}

/// The end of a page.
#[derive(Clone, Copy)]
pub(super) struct End(&'static str, Option<&'static str>);

/// Ends the last page.
pub(super) fn at(version: &'static str) -> End {
    End(version, None)
}

/// Ends a page that has a next one.
pub(super) fn more(version: &'static str, token: &'static str) -> End {
    End(version, Some(token))
}

impl Script {
    pub(super) fn new() -> Script {
        Script::default()
    }

    fn then(self, answer: ScriptResponse) -> Script {
        self.answers.lock().push_back(answer);
        self
    }

    /// Responds to a list request with objects, written as `name@version`.
    pub(super) fn lists(self, objects: &[&str], end: End) -> Script {
        let mut parts: Vec<_> = objects
            .iter()
            .map(|object| ScriptStep::Part(ListPart::Object(item(object))))
            .collect();
        parts.push(ScriptStep::Part(ListPart::End {
            version: end.0.into(),
            continue_token: end.1.map(str::to_owned),
        }));
        self.then(ScriptResponse::List(parts))
    }

    /// Responds to a list request with these parts.
    pub(super) fn lists_parts(self, parts: Vec<ScriptStep<ListPart<ConfigMap>>>) -> Script {
        self.then(ScriptResponse::List(parts))
    }

    /// Responds to a watch or streaming list with these events and closes it.
    pub(super) fn sends(self, events: Vec<ScriptStep<WatchEvent<ConfigMap>>>) -> Script {
        self.then(ScriptResponse::Watch(events))
    }

    pub(super) fn fails(self, error: Error) -> Script {
        self.then(ScriptResponse::Fails(error))
    }

    /// Responds to a discovery request.
    pub(super) fn discovers(self, served: bool) -> Script {
        self.then(ScriptResponse::Served(served))
    }

    pub(super) fn never_answers(self) -> Script {
        self.then(ScriptResponse::Never)
    }

    fn next(&self, request: &str) -> Option<ScriptResponse> {
        let began = *self.began.lock().get_or_insert_with(Instant::now);
        let after = began.elapsed().as_secs();
        self.requests.lock().push(format!("{after}s {request}"));
        self.answers.lock().pop_front()
    }

    /// Records a request that does not match the script, and never responds.
    async fn unexpected<T>(&self, request: String) -> T {
        self.unexpected.lock().push(request);
        std::future::pending().await
    }

    /// Panics if a request did not match the script.
    fn check(&self) {
        let unexpected = self.unexpected.lock();
        assert!(
            unexpected.is_empty(),
            "requests that do not match the script: {unexpected:?}"
        );
    }

    /// Returns the number of open requests.
    pub(super) fn open(&self) -> usize {
        self.open.now.load(Ordering::SeqCst)
    }

    /// Returns the timeouts of the watch requests.
    pub(super) fn timeouts(&self) -> Vec<Duration> {
        self.timeouts.lock().clone()
    }

    /// Returns the requests, each with the second in which it was sent.
    pub(super) fn requests(&self) -> Vec<String> {
        self.check();
        self.requests.lock().clone()
    }

    fn play<T: Send + 'static>(
        parts: Vec<ScriptStep<T>>,
        held: OpenRequest,
    ) -> impl futures::Stream<Item = Result<T, Error>> + Send + 'static {
        stream::unfold((VecDeque::from(parts), held), |(mut parts, held)| async move {
            loop {
                let part = match parts.pop_front()? {
                    ScriptStep::Part(part) => Ok(part),
                    ScriptStep::Error(error) => Err(error),
                    ScriptStep::Pause(time) => {
                        tokio::time::sleep(time).await;
                        continue;
                    }
                    ScriptStep::Silence => std::future::pending().await,
                    ScriptStep::Many(0, _) => continue,
                    ScriptStep::Many(count, part) => {
                        parts.push_front(ScriptStep::Many(count - 1, part));
                        Ok(part())
                    }
                };
                return Some((part, (parts, held)));
            }
        })
    }
}

/// The current and the maximum number of open requests.
#[derive(Default)]
struct OpenRequests {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// A request that is open until its response is dropped.
struct OpenRequest(Arc<OpenRequests>);

impl OpenRequest {
    fn new(open: &Arc<OpenRequests>) -> OpenRequest {
        let now = open.now.fetch_add(1, Ordering::SeqCst) + 1;
        open.most.fetch_max(now, Ordering::SeqCst);
        OpenRequest(Arc::clone(open))
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ListWatch<ConfigMap> for Script {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<ConfigMap>, Error>> {
        let version = request.resource_version.as_deref().unwrap_or("newest");
        let mut text = match &request.continue_token {
            Some(token) => format!("page {token}"),
            None => format!("list {version}"),
        };
        if let Some(limit) = request.limit {
            write!(text, " by {limit}").expect("a String takes everything");
        }
        let answer = self.next(&text);
        let held = OpenRequest::new(&self.open);
        Box::pin(async move {
            match answer {
                Some(ScriptResponse::List(parts)) => Ok(Script::play(parts, held).boxed()),
                Some(ScriptResponse::Fails(error)) => Err(error),
                Some(ScriptResponse::Never) | None => {
                    let _held = held;
                    std::future::pending().await
                }
                Some(ScriptResponse::Watch(_) | ScriptResponse::Served(_)) => self.unexpected(text).await,
            }
        })
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<ConfigMap>, Error>> {
        let version = request.resource_version.as_deref().unwrap_or("newest");
        let verb = if request.initial_events { "stream" } else { "watch" };
        let text = format!("{verb} {version}");
        self.timeouts.lock().push(request.timeout);
        let answer = self.next(&text);
        let held = OpenRequest::new(&self.open);
        Box::pin(async move {
            match answer {
                Some(ScriptResponse::Watch(events)) => Ok(Script::play(events, held).boxed()),
                Some(ScriptResponse::Fails(error)) => Err(error),
                Some(ScriptResponse::Never) | None => {
                    let _held = held;
                    std::future::pending().await
                }
                Some(ScriptResponse::List(_) | ScriptResponse::Served(_)) => self.unexpected(text).await,
            }
        })
    }

    fn is_served(&self) -> BoxFuture<'_, Result<bool, Error>> {
        let answer = self.next("served?");
        let held = OpenRequest::new(&self.open);
        Box::pin(async move {
            match answer {
                Some(ScriptResponse::Served(served)) => Ok(served),
                Some(ScriptResponse::Fails(error)) => Err(error),
                Some(ScriptResponse::Never) | None => {
                    let _held = held;
                    std::future::pending().await
                }
                Some(_) => self.unexpected("served?".to_owned()).await,
            }
        })
    }
}

/// A script with several owners.
pub(super) struct SharedScript(pub(super) Arc<Script>);

impl ListWatch<ConfigMap> for SharedScript {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<ConfigMap>, Error>> {
        self.0.list(request)
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<ConfigMap>, Error>> {
        self.0.watch(request)
    }

    fn is_served(&self) -> BoxFuture<'_, Result<bool, Error>> {
        self.0.is_served()
    }
}

/// Returns an object `name@version` in the namespace `default`.
pub(super) fn object(text: &str) -> ConfigMap {
    let (name, version) = text.split_once('@').expect("tests write name@version");
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.namespace = Some("default".to_owned());
    object.metadata.resource_version = Some(version.to_owned());
    object
}

pub(super) fn item(text: &str) -> RawObject<ConfigMap> {
    RawObject::decoded(object(text)).expect("it has a name and a version")
}

pub(super) fn listed(text: &str) -> ScriptStep<ListPart<ConfigMap>> {
    ScriptStep::Part(ListPart::Object(item(text)))
}

pub(super) fn added(text: &str) -> ScriptStep<WatchEvent<ConfigMap>> {
    ScriptStep::Part(WatchEvent::Added(item(text)))
}

pub(super) fn modified(text: &str) -> ScriptStep<WatchEvent<ConfigMap>> {
    ScriptStep::Part(WatchEvent::Modified(item(text)))
}

pub(super) fn deleted(text: &str) -> ScriptStep<WatchEvent<ConfigMap>> {
    ScriptStep::Part(WatchEvent::Deleted(item(text)))
}

pub(super) fn bookmark(version: &str) -> ScriptStep<WatchEvent<ConfigMap>> {
    ScriptStep::Part(WatchEvent::Bookmark {
        version: version.into(),
        initial_events_end: false,
    })
}

pub(super) fn initial_end(version: &str) -> ScriptStep<WatchEvent<ConfigMap>> {
    ScriptStep::Part(WatchEvent::Bookmark {
        version: version.into(),
        initial_events_end: true,
    })
}

pub(super) fn pause<T>(seconds: u64) -> ScriptStep<T> {
    ScriptStep::Pause(Duration::from_secs(seconds))
}

/// A context that decodes objects, caches nothing, and records reports and activities.
#[derive(Default)]
pub(super) struct TestContext {
    reports: Mutex<Vec<String>>,
    counted: Mutex<Vec<Operation>>,
    /// All entries that were created.
    entries: Mutex<Vec<Weak<Entry<ConfigMap>>>>,
    /// While this is locked, the store has not reached the versions in the queue.
    pub(super) behind: tokio::sync::Mutex<()>,
}

impl Context<ConfigMap> for TestContext {
    fn cached(&self, _object: &RawObject<ConfigMap>) -> Option<Arc<Entry<ConfigMap>>> {
        None
    }

    fn entry(
        &self,
        object: RawObject<ConfigMap>,
        _allocation: Allocation,
    ) -> Result<Arc<Entry<ConfigMap>>, Error> {
        let uid = object.uid();
        let (key, version, object) = object.into_parts()?;
        let hash = Seed::new(7).key(&key);
        let entry = Entry::new(key, hash, version, uid, Value::Decoded(Arc::new(object)));
        self.entries.lock().push(Arc::downgrade(&entry));
        Ok(entry)
    }

    fn report(&self, error: &Error) {
        self.reports.lock().push(ErrorChain(error).to_string());
    }

    fn observe(&self, _scope: Scope, _at: Instant, activity: Activity) {
        if let Activity::Requested(operation) = activity {
            self.counted.lock().push(operation);
        }
    }

    async fn reached(&self, _scope: Scope, _version: &ResourceVersion) {
        let _ = self.behind.lock().await;
    }
}

/// A driver with its script, its queue and its context.
pub(super) struct DriverTest {
    pub(super) script: Arc<Script>,
    pub(super) queue: Sender<Delta<ConfigMap>>,
    received: Mutex<DeltaReceiver<ConfigMap>>,
    pub(super) context: Arc<TestContext>,
    pub(super) stop: CancellationToken,
    pub(super) start_over: Arc<Notify>,
    settings: Settings,
}

impl DriverTest {
    pub(super) fn with(settings: Settings, script: Script) -> DriverTest {
        let (queue, deltas) = queue::channel();
        DriverTest {
            script: Arc::new(script),
            queue,
            received: Mutex::new(deltas),
            context: Arc::default(),
            stop: CancellationToken::new(),
            start_over: Arc::default(),
            settings,
        }
    }

    /// Returns the driver's future, which ends when it is stopped.
    pub(super) fn drive(&self) -> impl Future<Output = ()> + Send + 'static {
        let driver = Driver {
            source: Arc::new(SharedScript(Arc::clone(&self.script))),
            deltas: self.queue.clone(),
            context: Arc::clone(&self.context),
            resource: WatchedResource::of::<ConfigMap>(&(), Some("default")),
            namespace: Some("default".into()),
            scope: Scope::ONLY,
            max_list_bytes: 1 << 20,
            start_over: Arc::clone(&self.start_over),
        };
        driver.run(self.settings.clone(), self.stop.clone())
    }

    /// Runs the driver for some time.
    pub(super) async fn run_for(&self, time: Duration) {
        let ended = tokio::time::timeout(time, self.drive()).await;
        assert!(ended.is_err(), "a driver ends only when it is stopped");
        self.script.check();
        let most = self.script.open.most.load(Ordering::SeqCst);
        assert_eq!(most, 1, "a response is dropped before the next request");
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.script.requests()
    }

    /// Returns the errors passed to the watch-error handler.
    pub(super) fn reports(&self) -> Vec<String> {
        self.context.reports.lock().clone()
    }

    pub(super) fn counted(&self) -> Vec<Operation> {
        self.context.counted.lock().clone()
    }

    /// Returns the number of entries in memory.
    pub(super) fn entries(&self) -> usize {
        let entries = self.context.entries.lock();
        entries.iter().filter(|entry| entry.strong_count() > 0).count()
    }

    /// Takes all deltas out of the queue.
    pub(super) fn pop(&self) -> Vec<Delta<ConfigMap>> {
        let batch = self.received.lock().pop().now_or_never();
        batch.flatten().unwrap_or_default()
    }

    /// Takes all deltas out of the queue, as text.
    #[expect(clippy::unused_async, reason = "the driver runs while a test waits")]
    pub(super) async fn deltas(&self) -> Vec<String> {
        self.pop().iter().map(words).collect()
    }
}

/// Formats a delta; the objects of a list are sorted by name, because their order is unspecified.
pub(super) fn words(delta: &Delta<ConfigMap>) -> String {
    match delta {
        Delta::Upsert(entry) => format!("upsert {}", name(entry)),
        Delta::Deleted(entry) => format!("deleted {}", name(entry)),
        Delta::Bookmark(version, _) => format!("bookmark {version}"),
        Delta::Replaced(list) => {
            let mut names: Vec<_> = list.objects.iter().map(|entry| name(entry)).collect();
            names.sort();
            format!("replaced at {}: {}", list.version, names.join(" "))
        }
        Delta::KindRemoved { version, .. } => format!("kind removed after {version}"),
    }
}

fn name(entry: &Entry<ConfigMap>) -> String {
    let (key, version) = (entry.key().as_str(), entry.version());
    format!("{}@{version}", key.trim_start_matches("default/"))
}
