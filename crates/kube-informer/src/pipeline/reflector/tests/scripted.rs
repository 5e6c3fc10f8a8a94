//! A source of objects that plays a script, and what the driver made of it.

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
use crate::object::format::{Place, Value};
use crate::object::{Entry, ResourceVersion, WatchedResource};
use crate::pipeline::queue::{self, DeltaReceiver};
use crate::pipeline::reflector::driver::{Activity, Context, Driver};
use crate::pipeline::reflector::machine::Settings;
use crate::pipeline::reflector::{Delta, Scope};
use crate::pipeline::store::Seed;
use crate::pipeline::wire::{
    ListPart, ListRequest, ListStream, ListWatch, RawObject, WatchEvent, WatchRequest, WatchStream,
};

/// What a source answers, request by request. A request beyond the script is never answered.
#[derive(Default)]
pub(super) struct Script {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<String>>,
    open: Arc<Open>,
    timeouts: Mutex<Vec<Duration>>,
    began: Mutex<Option<Instant>>,
    /// Requests that the script has another answer for. A panic would not do: the driver catches those of a source.
    unexpected: Mutex<Vec<String>>,
}

impl Drop for Script {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check();
        }
    }
}

enum Answer {
    List(Vec<Told<ListPart<ConfigMap>>>),
    Watch(Vec<Told<WatchEvent<ConfigMap>>>),
    Fails(Error),
    Served(bool),
    Never,
}

/// A part of an answer.
pub(super) enum Told<T> {
    Part(T),
    Error(Error),
    Pause(Duration),
    /// From here on nothing comes, and the connection stays.
    Silence,
    /// So many parts without a pause.
    Many(usize, fn() -> T),
}

/// The end of a page.
#[derive(Clone, Copy)]
pub(super) struct End(&'static str, Option<&'static str>);

/// The page is the last.
pub(super) fn at(version: &'static str) -> End {
    End(version, None)
}

/// The page has a next one.
pub(super) fn more(version: &'static str, token: &'static str) -> End {
    End(version, Some(token))
}

impl Script {
    pub(super) fn new() -> Script {
        Script::default()
    }

    fn then(self, answer: Answer) -> Script {
        self.answers.lock().push_back(answer);
        self
    }

    /// Answers a list request with objects, written `name@version`.
    pub(super) fn lists(self, objects: &[&str], end: End) -> Script {
        let mut parts: Vec<_> = objects
            .iter()
            .map(|object| Told::Part(ListPart::Object(item(object))))
            .collect();
        parts.push(Told::Part(ListPart::End {
            version: end.0.into(),
            continue_token: end.1.map(str::to_owned),
        }));
        self.then(Answer::List(parts))
    }

    /// Answers a list request with these parts.
    pub(super) fn lists_parts(self, parts: Vec<Told<ListPart<ConfigMap>>>) -> Script {
        self.then(Answer::List(parts))
    }

    /// Answers a watch, or a streaming list, with these events and closes it.
    pub(super) fn sends(self, events: Vec<Told<WatchEvent<ConfigMap>>>) -> Script {
        self.then(Answer::Watch(events))
    }

    pub(super) fn fails(self, error: Error) -> Script {
        self.then(Answer::Fails(error))
    }

    /// Answers whether the kind is served.
    pub(super) fn discovers(self, served: bool) -> Script {
        self.then(Answer::Served(served))
    }

    pub(super) fn never_answers(self) -> Script {
        self.then(Answer::Never)
    }

    fn next(&self, request: &str) -> Option<Answer> {
        let began = *self.began.lock().get_or_insert_with(Instant::now);
        let after = began.elapsed().as_secs();
        self.requests.lock().push(format!("{after}s {request}"));
        self.answers.lock().pop_front()
    }

    /// Notes a request that the script has another answer for, and never answers it.
    async fn unexpected<T>(&self, request: String) -> T {
        self.unexpected.lock().push(request);
        std::future::pending().await
    }

    /// Fails if there was a request that the script has another answer for.
    fn check(&self) {
        let unexpected = self.unexpected.lock();
        assert!(
            unexpected.is_empty(),
            "requests with an answer of another kind: {unexpected:?}"
        );
    }

    /// How many requests are open.
    pub(super) fn open(&self) -> usize {
        self.open.now.load(Ordering::SeqCst)
    }

    /// For how long each watch was asked for.
    pub(super) fn timeouts(&self) -> Vec<Duration> {
        self.timeouts.lock().clone()
    }

    /// What was asked, each with the second in which it was.
    pub(super) fn requests(&self) -> Vec<String> {
        self.check();
        self.requests.lock().clone()
    }

    fn play<T: Send + 'static>(
        parts: Vec<Told<T>>,
        held: Held,
    ) -> impl futures::Stream<Item = Result<T, Error>> + Send + 'static {
        stream::unfold((VecDeque::from(parts), held), |(mut parts, held)| async move {
            loop {
                let part = match parts.pop_front()? {
                    Told::Part(part) => Ok(part),
                    Told::Error(error) => Err(error),
                    Told::Pause(time) => {
                        tokio::time::sleep(time).await;
                        continue;
                    }
                    Told::Silence => std::future::pending().await,
                    Told::Many(0, _) => continue,
                    Told::Many(count, part) => {
                        parts.push_front(Told::Many(count - 1, part));
                        Ok(part())
                    }
                };
                return Some((part, (parts, held)));
            }
        })
    }
}

/// How many requests are open now, and the most that ever were.
#[derive(Default)]
struct Open {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// A request that is open for as long as someone holds its answer.
struct Held(Arc<Open>);

impl Held {
    fn new(open: &Arc<Open>) -> Held {
        let now = open.now.fetch_add(1, Ordering::SeqCst) + 1;
        open.most.fetch_max(now, Ordering::SeqCst);
        Held(Arc::clone(open))
    }
}

impl Drop for Held {
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
        let held = Held::new(&self.open);
        Box::pin(async move {
            match answer {
                Some(Answer::List(parts)) => Ok(Script::play(parts, held).boxed()),
                Some(Answer::Fails(error)) => Err(error),
                Some(Answer::Never) | None => {
                    let _held = held;
                    std::future::pending().await
                }
                Some(Answer::Watch(_) | Answer::Served(_)) => self.unexpected(text).await,
            }
        })
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<ConfigMap>, Error>> {
        let version = request.resource_version.as_deref().unwrap_or("newest");
        let verb = if request.initial_events { "stream" } else { "watch" };
        let text = format!("{verb} {version}");
        self.timeouts.lock().push(request.timeout);
        let answer = self.next(&text);
        let held = Held::new(&self.open);
        Box::pin(async move {
            match answer {
                Some(Answer::Watch(events)) => Ok(Script::play(events, held).boxed()),
                Some(Answer::Fails(error)) => Err(error),
                Some(Answer::Never) | None => {
                    let _held = held;
                    std::future::pending().await
                }
                Some(Answer::List(_) | Answer::Served(_)) => self.unexpected(text).await,
            }
        })
    }

    fn is_served(&self) -> BoxFuture<'_, Result<bool, Error>> {
        let answer = self.next("served?");
        let held = Held::new(&self.open);
        Box::pin(async move {
            match answer {
                Some(Answer::Served(served)) => Ok(served),
                Some(Answer::Fails(error)) => Err(error),
                Some(Answer::Never) | None => {
                    let _held = held;
                    std::future::pending().await
                }
                Some(_) => self.unexpected("served?".to_owned()).await,
            }
        })
    }
}

/// Lets several hold one script.
pub(super) struct Shared(pub(super) Arc<Script>);

impl ListWatch<ConfigMap> for Shared {
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

/// An object `name@version` in the namespace `default`.
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

pub(super) fn listed(text: &str) -> Told<ListPart<ConfigMap>> {
    Told::Part(ListPart::Object(item(text)))
}

pub(super) fn added(text: &str) -> Told<WatchEvent<ConfigMap>> {
    Told::Part(WatchEvent::Added(item(text)))
}

pub(super) fn modified(text: &str) -> Told<WatchEvent<ConfigMap>> {
    Told::Part(WatchEvent::Modified(item(text)))
}

pub(super) fn deleted(text: &str) -> Told<WatchEvent<ConfigMap>> {
    Told::Part(WatchEvent::Deleted(item(text)))
}

pub(super) fn bookmark(version: &str) -> Told<WatchEvent<ConfigMap>> {
    Told::Part(WatchEvent::Bookmark {
        version: version.into(),
        initial_events_end: false,
    })
}

pub(super) fn initial_end(version: &str) -> Told<WatchEvent<ConfigMap>> {
    Told::Part(WatchEvent::Bookmark {
        version: version.into(),
        initial_events_end: true,
    })
}

pub(super) fn pause<T>(seconds: u64) -> Told<T> {
    Told::Pause(Duration::from_secs(seconds))
}

/// Decodes objects, caches nothing, and records what it is told.
#[derive(Default)]
pub(super) struct Plain {
    reports: Mutex<Vec<String>>,
    counted: Mutex<Vec<Operation>>,
    /// All entries that were made.
    entries: Mutex<Vec<Weak<Entry<ConfigMap>>>>,
    /// While this is locked, the store has not reached what was handed on.
    pub(super) behind: tokio::sync::Mutex<()>,
}

impl Context<ConfigMap> for Plain {
    fn cached(&self, _object: &RawObject<ConfigMap>) -> Option<Arc<Entry<ConfigMap>>> {
        None
    }

    fn entry(&self, object: RawObject<ConfigMap>, _place: Place) -> Result<Arc<Entry<ConfigMap>>, Error> {
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

/// A driver, its script, and everything it leaves behind.
pub(super) struct Stage {
    pub(super) script: Arc<Script>,
    pub(super) queue: Sender<Delta<ConfigMap>>,
    received: Mutex<DeltaReceiver<ConfigMap>>,
    pub(super) context: Arc<Plain>,
    pub(super) stop: CancellationToken,
    pub(super) start_over: Arc<Notify>,
    settings: Settings,
}

impl Stage {
    pub(super) fn with(settings: Settings, script: Script) -> Stage {
        let (queue, deltas) = queue::channel();
        Stage {
            script: Arc::new(script),
            queue,
            received: Mutex::new(deltas),
            context: Arc::default(),
            stop: CancellationToken::new(),
            start_over: Arc::default(),
            settings,
        }
    }

    /// The driver's work, until it is stopped.
    pub(super) fn drive(&self) -> impl Future<Output = ()> + Send + 'static {
        let driver = Driver {
            source: Arc::new(Shared(Arc::clone(&self.script))),
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
        assert!(ended.is_err(), "a driver ends only when it is told to");
        self.script.check();
        let most = self.script.open.most.load(Ordering::SeqCst);
        assert_eq!(most, 1, "an answer is dropped before the next request");
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.script.requests()
    }

    /// What was told to the watch-error handler.
    pub(super) fn reports(&self) -> Vec<String> {
        self.context.reports.lock().clone()
    }

    pub(super) fn counted(&self) -> Vec<Operation> {
        self.context.counted.lock().clone()
    }

    /// Number of entries in memory.
    pub(super) fn entries(&self) -> usize {
        let entries = self.context.entries.lock();
        entries.iter().filter(|entry| entry.strong_count() > 0).count()
    }

    /// Takes everything out of the delta queue.
    pub(super) fn pop(&self) -> Vec<Delta<ConfigMap>> {
        let batch = self.received.lock().pop().now_or_never();
        batch.flatten().unwrap_or_default()
    }

    /// Takes everything out of the delta queue, as text.
    #[expect(clippy::unused_async, reason = "the driver runs while a test waits")]
    pub(super) async fn deltas(&self) -> Vec<String> {
        self.pop().iter().map(words).collect()
    }
}

/// A delta in words; the objects of a list by name, because their order is not promised.
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
