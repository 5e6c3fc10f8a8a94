//! Performs the machine's actions: sends requests, keeps deadlines, collects lists and fills the delta queue.

use std::sync::Arc;

use futures::{FutureExt, StreamExt, stream};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use super::list_buffer::ListBuffer;
use super::list_trace::ListTrace;
use super::machine::{self, Machine, Settings, Trust};
use super::{Delta, Replacement, Scope};
use crate::error::{Error, ErrorChain, Operation};
use crate::measures::RelistCause;
use crate::object::format::Allocation;
use crate::object::{Entry, Key, Kind, ResourceVersion, WatchedResource};
use crate::pipeline::wire::{
    ListPart, ListRequest, ListWatch, RawObject, WatchEvent, WatchRequest, WatchStream,
};
use crate::util::panics;

type Action<K> = machine::Action<RawObject<K>>;
type Input<K> = machine::Input<RawObject<K>>;

/// Services of the informer for the reflector.
pub(crate) trait Context<K>: Send + Sync + 'static {
    /// Returns the cached entry of a listed object with the same uid and version. It need not be decoded
    /// (contract 10).
    fn cached(&self, object: &RawObject<K>) -> Option<Arc<Entry<K>>>;

    /// Creates the entry of an object: decodes, transforms and packs it as configured.
    fn entry(&self, object: RawObject<K>, allocation: Allocation) -> Result<Arc<Entry<K>>, Error>;

    /// Reports an error to the watch-error handler.
    fn report(&self, error: &Error);

    /// Records an activity of the reflector of a scope.
    fn observe(&self, scope: Scope, at: Instant, activity: Activity);

    /// Waits until the store has reached a version that is in the queue.
    fn reached(&self, scope: Scope, version: &ResourceVersion) -> impl Future<Output = ()> + Send;
}

/// Activities of a reflector, for status and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    /// A request was sent.
    Requested(Operation),
    /// An object of this size in bytes was received.
    Received(usize),
    /// The server returned a version, in an event or a bookmark.
    Progressed,
    WatchOpened,
    WatchEnded,
    /// No request is sent before this time.
    Waiting(Instant),
    Waited,
    /// A list is complete. The first list has no cause.
    Listed(Option<RelistCause>),
}

/// Runs the machine of one reflector.
pub(crate) struct Driver<K, C> {
    pub(crate) source: Arc<dyn ListWatch<K>>,
    pub(crate) deltas: mpsc::Sender<Delta<K>>,
    pub(crate) context: Arc<C>,
    pub(crate) resource: WatchedResource,
    /// The namespace of all objects, if the source is limited to one.
    pub(crate) namespace: Option<Arc<str>>,
    /// The part of the store that this reflector maintains.
    pub(crate) scope: Scope,
    /// Maximum size of a list in bytes.
    pub(crate) max_list_bytes: u64,
    /// Notified when a consistency check found differences.
    pub(crate) start_over: Arc<Notify>,
}

/// The state between two actions.
struct Session<K> {
    list: ListBuffer<K>,
    trace: ListTrace,
    /// The open watch, or an ended stream.
    watch: WatchStream<K>,
    is_watching: bool,
    /// The operation that errors are attributed to.
    operation: Operation,
    span: Span,
}

impl<K: Kind, C: Context<K>> Driver<K, C> {
    /// Lists and watches until `stop` is cancelled.
    pub(crate) async fn run(self, settings: Settings, stop: CancellationToken) {
        stop.run_until_cancelled(self.work(settings)).await;
    }

    /// Performs actions until the controller has ended, which closes the queue.
    async fn work(&self, settings: Settings) {
        let (mut machine, mut action) = Machine::new(settings, Instant::now());
        let mut session = Session::new(self.max_list_bytes);
        while !self.deltas.is_closed() {
            let input = self.perform(&mut session, action).await;
            let decision = machine.handle(Instant::now(), input);
            if let Some(error) = decision.report {
                let error = error.with_context(session.operation, &self.resource);
                self.context.report(&error);
            }
            action = decision.action;
        }
    }

    async fn perform(&self, session: &mut Session<K>, action: Action<K>) -> Input<K> {
        self.release(session, &action);
        session.span = match &action {
            Action::List { request, .. } => tracing::debug_span!("list", at = request.resource_version),
            Action::Watch { request, .. } => tracing::debug_span!("watch", from = request.resource_version),
            _ if session.is_watching => session.span.clone(),
            _ => Span::none(),
        };
        let span = session.span.clone();
        // The source and the type of its objects are user code.
        let performed = panics::caught_in(self.try_perform(session, action).instrument(span)).await;
        match performed {
            Ok(Ok(input)) => input,
            Ok(Err(error)) => Input::Failed(error),
            Err(panic) => Input::Failed(panicked(&panic)),
        }
    }

    /// Drops the watch and the collected objects, unless the action continues them.
    fn release(&self, session: &mut Session<K>, action: &Action<K>) {
        // Both are user code. A panic must not keep the other from being dropped.
        let watch = panics::caught(|| {
            if !action.continues_watch() {
                self.close_watch(session);
            }
        });
        let objects = panics::caught(|| {
            if !action.continues_list() {
                session.list.clear();
            }
        });
        for panic in [watch, objects].into_iter().filter_map(Result::err) {
            let error = panicked(&panic).with_context(session.operation, &self.resource);
            self.context.report(&error);
        }
    }

    async fn try_perform(&self, session: &mut Session<K>, action: Action<K>) -> Result<Input<K>, Error> {
        match action {
            Action::List {
                request,
                begin,
                silence,
                deadline,
            } => {
                session.operation = Operation::List;
                self.begin_list(session, begin).await;
                let page_deadline = || deadline.min(Instant::now() + silence);
                self.list(session, request, page_deadline).await
            }
            Action::Watch {
                request,
                begin,
                timeout,
            } => {
                session.operation = if request.initial_events {
                    Operation::StreamingList
                } else {
                    Operation::Watch
                };
                self.begin_list(session, begin).await;
                self.watch(session, request, Instant::now() + timeout).await
            }
            Action::Read { deadline } => self.read(session, deadline).await,
            Action::Collect { object, is_deleted } => {
                self.collect(&mut session.list, object, is_deleted)?;
                Ok(Input::Collected)
            }
            Action::Apply { object, is_deleted } => {
                self.push(self.delta(object, is_deleted)?).await;
                Ok(Input::Applied)
            }
            Action::ApplyBookmark(version) => {
                self.push(Delta::Bookmark(version, self.scope)).await;
                Ok(Input::Applied)
            }
            Action::Replace { version, cause } => {
                self.replace(session, version, cause).await;
                Ok(Input::Applied)
            }
            Action::RemoveKind { version } => {
                let scope = self.scope;
                self.push(Delta::KindRemoved { version, scope }).await;
                Ok(Input::Applied)
            }
            Action::CheckServed { timeout } => Ok(Input::Served(self.is_served(timeout).await)),
            Action::Wait(wait) | Action::WaitForPage(wait) => {
                let end = Instant::now() + wait;
                self.observe(Activity::Waiting(end));
                sleep_until(end).await;
                self.observe(Activity::Waited);
                session.trace.paused(wait);
                Ok(Input::Waited)
            }
        }
    }

    /// Prepares a new list. If it is compared with the cache, the queue is applied to the cache first.
    async fn begin_list(&self, session: &mut Session<K>, begin: Option<Trust>) {
        let Some(trust) = begin else { return };
        // Differences found before are corrected by this list.
        let _ = self.start_over.notified().now_or_never();
        if let Trust::Doubted(version) = &trust {
            self.context.reached(self.scope, version).await;
        }
        session.list.begin(trust);
        session.trace = ListTrace::begin();
    }

    /// Reads one page of a list.
    async fn list(
        &self,
        session: &mut Session<K>,
        request: ListRequest,
        deadline: impl Fn() -> Instant,
    ) -> Result<Input<K>, Error> {
        self.observe(Activity::Requested(Operation::List));
        let Session { list, trace, .. } = session;
        trace.requested();
        let response = timeout_at(deadline(), self.source.list(request));
        let Ok(response) = trace.wait_for(response).await else {
            return Ok(Input::TimedOut);
        };
        let mut parts = response?;
        let mut objects = 0;
        loop {
            // A source whose parts are all ready would otherwise neither yield nor be cancelled.
            tokio::task::consume_budget().await;
            let Ok(part) = trace.wait_for(timeout_at(deadline(), parts.next())).await else {
                return Ok(Input::TimedOut);
            };
            match part {
                Some(Ok(ListPart::Object(object))) => {
                    self.collect_object(list, object)?;
                    objects += 1;
                }
                Some(Ok(ListPart::Progress)) => {}
                Some(Ok(ListPart::End {
                    version,
                    continue_token,
                })) => {
                    // The machine keeps all tokens.
                    list.reserve(continue_token.as_ref().map_or(0, String::len))?;
                    let is_last = continue_token.is_none();
                    return Ok(Input::Page {
                        version,
                        continue_token,
                        objects,
                        contradiction: if is_last { list.finish() } else { None },
                    });
                }
                Some(Err(error)) => return Err(error),
                None => return Err(Error::bad_data("incomplete list")),
            }
        }
    }

    async fn watch(
        &self,
        session: &mut Session<K>,
        request: WatchRequest,
        deadline: Instant,
    ) -> Result<Input<K>, Error> {
        self.observe(Activity::Requested(session.operation));
        session.trace.requested();
        let response = tokio::select! {
            biased;
            response = session.trace.wait_for(timeout_at(deadline, self.source.watch(request))) => response,
            () = self.start_over.notified() => return Ok(Input::StartOver),
        };
        let Ok(response) = response else {
            return Ok(Input::TimedOut);
        };
        session.watch = response?;
        session.is_watching = true;
        if session.operation == Operation::Watch {
            self.observe(Activity::WatchOpened);
        }
        Ok(Input::Opened)
    }

    /// Reads the next event of the open watch. Its object stays encoded until the machine has decided about
    /// it.
    async fn read(&self, session: &mut Session<K>, deadline: Instant) -> Result<Input<K>, Error> {
        tokio::task::consume_budget().await;
        let next = timeout_at(deadline, session.watch.next());
        let event = tokio::select! {
            biased;
            event = session.trace.wait_for(next) => event,
            () = self.start_over.notified() => return Ok(Input::StartOver),
        };
        let event = match event {
            Err(_) => return Ok(Input::TimedOut),
            Ok(None) => return Ok(Input::Closed),
            Ok(Some(event)) => event?,
        };
        let (object, is_deleted) = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
            WatchEvent::Deleted(object) => (object, true),
            WatchEvent::Bookmark {
                version,
                initial_events_end,
            } => {
                self.observe(Activity::Progressed);
                let contradiction = if initial_events_end {
                    session.list.finish()
                } else {
                    None
                };
                return Ok(Input::Bookmark {
                    version,
                    ends_initial_events: initial_events_end,
                    contradiction,
                });
            }
            WatchEvent::Failure(status) => return Err(Error::status(status)),
        };
        check_namespace(self.namespace.as_deref(), object.key())?;
        self.observe(Activity::Progressed);
        Ok(Input::Event {
            version: object.version().clone(),
            object,
            is_deleted,
        })
    }

    /// Adds the object of an initial event to the list, or removes it.
    fn collect(&self, list: &mut ListBuffer<K>, object: RawObject<K>, is_deleted: bool) -> Result<(), Error> {
        let _span = frame_span(&object).entered();
        if is_deleted {
            list.reserve(object.size())?;
            list.remove(self.entry(object, Allocation::Separate)?);
            return Ok(());
        }
        self.collect_object(list, object)
    }

    /// Adds an object to the list. It is decoded unless the cache contains it.
    fn collect_object(&self, list: &mut ListBuffer<K>, object: RawObject<K>) -> Result<(), Error> {
        check_namespace(self.namespace.as_deref(), object.key())?;
        list.reserve(object.size())?;
        if list.trusts_versions()
            && let Some(entry) = self.context.cached(&object)
        {
            self.observe(Activity::Received(object.size()));
            list.add_cached(entry);
            return Ok(());
        }
        list.add(self.entry(object, Allocation::Block)?);
        Ok(())
    }

    fn entry(&self, object: RawObject<K>, allocation: Allocation) -> Result<Arc<Entry<K>>, Error> {
        self.observe(Activity::Received(object.size()));
        self.context.entry(object, allocation)
    }

    fn delta(&self, object: RawObject<K>, is_deleted: bool) -> Result<Delta<K>, Error> {
        let _span = frame_span(&object).entered();
        let entry = self.entry(object, Allocation::Separate)?;
        Ok(if is_deleted {
            Delta::Deleted(entry)
        } else {
            Delta::Upsert(entry)
        })
    }

    /// Sends the collected list to the queue. A streaming list continues as a watch.
    async fn replace(&self, session: &mut Session<K>, version: ResourceVersion, cause: Option<RelistCause>) {
        self.observe(Activity::Listed(cause));
        if session.is_watching {
            session.operation = Operation::Watch;
            self.observe(Activity::WatchOpened);
        }
        let replacement = Replacement {
            trusts_versions: session.list.trusts_versions(),
            objects: session.list.take(),
            version,
            scope: self.scope,
        };
        let objects = replacement.objects.len();
        let began = Instant::now();
        self.push(Delta::Replaced(replacement)).await;
        session.trace.finish(&self.resource, objects, began.elapsed());
    }

    fn close_watch(&self, session: &mut Session<K>) {
        if session.is_watching {
            session.is_watching = false;
            self.observe(Activity::WatchEnded);
            session.watch = stream::empty().boxed();
        }
    }

    /// Asks discovery whether the kind is served. Returns `None` without a response in time.
    async fn is_served(&self, limit: std::time::Duration) -> Option<bool> {
        match timeout(limit, self.source.is_served()).await {
            Ok(Ok(served)) => Some(served),
            // The original failure is reported and contains more information.
            Ok(Err(error)) => {
                tracing::debug!(resource = %self.resource, error = %ErrorChain(&error), "discovery failed");
                None
            }
            Err(_) => None,
        }
    }

    /// Sends a delta, and waits while the queue is full.
    ///
    /// This fails only if the controller has ended, which ends [`Driver::work`], too.
    async fn push(&self, delta: Delta<K>) {
        let _ = self.deltas.send(delta).await;
    }

    fn observe(&self, activity: Activity) {
        self.context.observe(self.scope, Instant::now(), activity);
    }
}

impl<K: Kind> Session<K> {
    fn new(max_list_bytes: u64) -> Session<K> {
        Session {
            list: ListBuffer::new(max_list_bytes),
            trace: ListTrace::begin(),
            watch: stream::empty().boxed(),
            is_watching: false,
            operation: Operation::List,
            span: Span::none(),
        }
    }
}

fn panicked(message: &str) -> Error {
    Error::user_code(format!("list-watch panicked: {message}"))
}

/// Rejects an object of another namespace than the requested one.
///
/// In the cache, it would overwrite an object of another reflector.
pub(crate) fn check_namespace(namespace: Option<&str>, key: &Key) -> Result<(), Error> {
    match namespace {
        Some(namespace) if !key.is_in(namespace) => Err(Error::bad_data(format!(
            "unexpected object {key}: expected namespace {namespace:?}"
        ))),
        _ => Ok(()),
    }
}

/// Returns the span for decoding the object of a watch event.
fn frame_span<K: Kind>(object: &RawObject<K>) -> Span {
    tracing::trace_span!("frame", key = %object.key(), version = %object.version())
}
