//! Does what the machine decides: sends the requests, keeps the time, collects lists, feeds the delta queue.

use std::sync::Arc;

use futures::StreamExt;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use super::cause::Cause;
use super::machine::{self, Action, Checked, Failed, Listed, Machine, Next, Seen, Settings, Verdict};
use crate::error::{Chain, Error, Operation};
use crate::object::{Key, Kind, ResourceVersion, Unplaced, WatchedResource};
use crate::pipeline::queue::{self, Delta, DeltaFifo, Replaced, Scope};
use crate::pipeline::wire::{
    ListPart, ListRequest, ListWatch, RawObject, WatchEvent, WatchRequest, WatchStream, list_exceeded,
};
use crate::util::panics;

/// What the reflector needs of the rest of the informer.
pub(crate) trait Intake<K>: Send + Sync + 'static {
    /// Makes an item of a list ready for the store: transformed, pruned, hashed. If versions can be trusted, an item that the
    /// store holds with the same uid and version is not even decoded.
    fn listed(&self, item: RawObject<K>, trusting: bool) -> Result<queue::Listed<K>, Error>;

    /// The same for an item of a watch.
    fn watched(&self, item: RawObject<K>) -> Result<Unplaced<K>, Error>;

    /// Tells an error to whoever is to know.
    fn report(&self, error: &Error);

    /// Counts a request.
    fn requested(&self, request: Requested);

    /// Notes how it goes.
    fn noted(&self, at: Instant, scope: Scope, note: Note);

    /// Waits until the store has reached a version that was handed on.
    fn applied(&self, scope: Scope, version: &ResourceVersion) -> impl Future<Output = ()> + Send;
}

/// A request that was made, for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requested {
    List,
    Watch,
    StreamingList,
}

/// How it goes, for those who look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    /// The server told its version: by a list, an event or a bookmark.
    Heard,
    /// A watch is open.
    WatchOpen,
    /// The watch is over.
    WatchOver,
    /// Nothing is asked of the server until then.
    Waiting(Instant),
    /// It is asked again.
    Waited,
    /// A list is whole. All but the first have a cause.
    Listed(Option<Cause>),
}

/// The running part of the reflector.
pub(crate) struct Driver<K, I> {
    pub(crate) source: Arc<dyn ListWatch<K>>,
    pub(crate) queue: Arc<DeltaFifo<K>>,
    pub(crate) intake: Arc<I>,
    pub(crate) resource: WatchedResource,
    /// The namespace that every object has to be in, if the source was asked for one.
    pub(crate) namespace: Option<Arc<str>>,
    /// What it looks after.
    pub(crate) scope: Scope,
    /// How many bytes a list may have.
    pub(crate) max_list_bytes: u64,
    /// Told when the cache is found not to be what the server has.
    pub(crate) start_over: Arc<Notify>,
}

/// What an item of a list counts for at least, in bytes.
const LEAST_ITEM: u64 = 64;

/// What a list or a stream of initial events has brought so far.
struct Collected<K> {
    items: Vec<Came<K>>,
    /// Whether versions were trusted when they came.
    trusting: bool,
    /// The version of one of them that contradicts the cache.
    contradiction: Option<ResourceVersion>,
    /// How many bytes that were, and how many there may be.
    bytes: u64,
    most: u64,
}

/// An event that was taken in.
enum Taken<K> {
    /// Part of a list.
    There(queue::Listed<K>),
    /// No longer part of a list.
    Gone(Unplaced<K>),
    Delta(Delta<K>),
}

/// The last word on an object: it is there, or it is gone again.
enum Came<K> {
    There(queue::Listed<K>),
    Gone { hash: u64, key: Key },
}

impl<K: Kind, I: Intake<K>> Driver<K, I> {
    /// Lists and watches until it is told to stop.
    pub(crate) async fn run(self, settings: Settings, stop: CancellationToken) {
        stop.run_until_cancelled(self.work(settings)).await;
    }

    async fn work(&self, settings: Settings) {
        let (mut machine, mut action) = Machine::new(settings, Instant::now());
        let mut collected = Collected::new(self.max_list_bytes);
        loop {
            let doing = match &action {
                Action::Watch(request) if request.initial_events => Operation::StreamingList,
                Action::Watch(_) => Operation::Watch,
                Action::List { .. } | Action::Wait(_) => Operation::List,
            };
            let performed = self.perform(&mut machine, &mut collected, action);
            // A source is the user's code, and so is the type of its objects.
            action = match panics::caught_in(performed).await {
                Ok(next) => next,
                Err(panic) => {
                    collected.clear();
                    self.note(Note::WatchOver);
                    let error = Error::user_code(format!("the list-watch panicked: {panic}"));
                    self.told(machine.panicked(Instant::now(), error), doing)
                }
            };
        }
    }

    async fn perform(&self, machine: &mut Machine, collected: &mut Collected<K>, action: Action) -> Action {
        match action {
            Action::Wait(wait) => {
                let end = Instant::now() + wait;
                self.note(Note::Waiting(end));
                tokio::time::sleep_until(end).await;
                self.note(Note::Waited);
                machine.waited(Instant::now())
            }
            Action::List { request, fresh } => {
                if fresh {
                    self.begin_list(machine, collected).await;
                }
                let span = tracing::debug_span!("list", at = request.resource_version);
                self.list(machine, collected, request).instrument(span).await
            }
            Action::Watch(request) => {
                let span = tracing::debug_span!("watch", from = request.resource_version);
                let next = self.watch(machine, collected, request).instrument(span).await;
                self.note(Note::WatchOver);
                next
            }
        }
    }

    /// Drops what was collected. If the new list has to be checked against the cache, the cache first gets everything that was
    /// handed on.
    async fn begin_list(&self, machine: &Machine, collected: &mut Collected<K>) {
        collected.clear();
        if let Some(version) = machine.doubted() {
            self.intake.applied(self.scope, version).await;
        }
    }

    async fn list(
        &self,
        machine: &mut Machine,
        collected: &mut Collected<K>,
        request: ListRequest,
    ) -> Action {
        self.intake.requested(Requested::List);
        match self.page(machine, collected, request).await {
            Ok(page) => match machine.listed(
                Instant::now(),
                page.version,
                page.continue_token,
                page.items,
                collected.contradiction.as_ref(),
            ) {
                Listed::Continue(next) => self.told(next, Operation::List),
                Listed::Whole { version, next } => {
                    let action = self.told(next, Operation::List);
                    self.note(Note::Listed(machine.take_cause()));
                    self.replace(collected, version).await;
                    action
                }
            },
            Err(failed) => {
                // Whatever comes next begins anew, and it may be a while until then.
                collected.clear();
                match failed {
                    PageError::Failed(error) => self.failed(machine, error, Operation::List).await,
                    PageError::TimedOut => self.told(machine.timed_out(Instant::now()), Operation::List),
                }
            }
        }
    }

    async fn page(
        &self,
        machine: &Machine,
        collected: &mut Collected<K>,
        request: ListRequest,
    ) -> Result<Page, PageError> {
        let mut listing = in_time(machine, self.source.list(request)).await??;
        let mut items = 0;
        loop {
            // A list that is there already would otherwise be taken in without a pause, and cancelled late.
            tokio::task::consume_budget().await;
            match in_time(machine, listing.next()).await? {
                Some(Ok(ListPart::Object(item))) => {
                    collected.make_room(item.size())?;
                    collected.trusting = machine.is_trusting();
                    collected.add(self.listed(item, machine)?, machine);
                    items += 1;
                }
                Some(Ok(ListPart::Progress)) => {}
                Some(Ok(ListPart::End {
                    version,
                    continue_token,
                })) => {
                    // All of them are kept, too.
                    collected.make_room(continue_token.as_ref().map_or(0, String::len))?;
                    return Ok(Page {
                        version,
                        continue_token,
                        items,
                    });
                }
                Some(Err(error)) => return Err(error.into()),
                None => return Err(Error::bad_data("a list without its end").into()),
            }
        }
    }

    async fn watch(
        &self,
        machine: &mut Machine,
        collected: &mut Collected<K>,
        request: WatchRequest,
    ) -> Action {
        let mut doing = if request.initial_events {
            self.begin_list(machine, collected).await;
            self.intake.requested(Requested::StreamingList);
            Operation::StreamingList
        } else {
            self.intake.requested(Requested::Watch);
            Operation::Watch
        };
        // Only waiting for the server is cut short by a start-over: what arrived is handed on first.
        let answer = tokio::select! {
            biased;
            answer = timeout_at(machine.deadline(Instant::now()), self.source.watch(request)) => answer,
            () = self.start_over.notified() => return machine.start_over(Instant::now()),
        };
        match answer {
            Err(_) => self.told(machine.timed_out(Instant::now()), doing),
            Ok(Err(error)) => self.failed(machine, error, doing).await,
            Ok(Ok(events)) => {
                machine.opened(Instant::now());
                if !machine.is_streaming() {
                    self.note(Note::WatchOpen);
                }
                match self.follow(machine, collected, events, &mut doing).await {
                    Ok(action) => action,
                    Err(error) => self.failed(machine, error, doing).await,
                }
            }
        }
    }

    async fn follow(
        &self,
        machine: &mut Machine,
        collected: &mut Collected<K>,
        mut events: WatchStream<K>,
        doing: &mut Operation,
    ) -> Result<Action, Error> {
        // Clocks are slow: the time of one event does for the wait for the next.
        let mut now = Instant::now();
        loop {
            tokio::task::consume_budget().await;
            let event = tokio::select! {
                biased;
                event = timeout_at(machine.deadline(now), events.next()) => event,
                () = self.start_over.notified() => return Ok(machine.start_over(Instant::now())),
            };
            let event = match event {
                Err(_) => return Ok(self.told(machine.timed_out(Instant::now()), *doing)),
                Ok(None) => return Ok(self.told(machine.closed(Instant::now()), *doing)),
                Ok(Some(Err(error))) => return Err(error),
                Ok(Some(Ok(WatchEvent::Failure(status)))) => return Err(Error::status(status)),
                Ok(Some(Ok(event))) => event,
            };
            let seen = match &event {
                WatchEvent::Bookmark {
                    version,
                    initial_events_end,
                } => Seen::Bookmark {
                    version: version.clone(),
                    initial_events_end: *initial_events_end,
                },
                WatchEvent::Added(item) | WatchEvent::Modified(item) | WatchEvent::Deleted(item) => {
                    Seen::Change(item.version().clone())
                }
                WatchEvent::Failure(_) => continue,
            };
            if machine.is_streaming() {
                collected.make_room(event.size())?;
                collected.trusting = machine.is_trusting();
            }
            // An object that cannot be taken in has not been seen: it is asked for again.
            let taken = frame(&event).in_scope(|| self.take_in(event, machine))?;
            now = Instant::now();
            let verdict = machine.event(now, seen, collected.contradiction.as_ref());
            self.intake.noted(now, self.scope, Note::Heard);
            match verdict {
                Verdict::Skip => {}
                Verdict::Leave(next) => return Ok(self.told(next, *doing)),
                Verdict::Whole(version) => {
                    *doing = Operation::Watch;
                    self.note(Note::Listed(machine.take_cause()));
                    self.note(Note::WatchOpen);
                    self.replace(collected, version).await;
                }
                Verdict::Collect => match taken {
                    Taken::There(item) => collected.add(item, machine),
                    Taken::Gone(item) => collected.remove(item),
                    Taken::Delta(_) => {}
                },
                Verdict::Apply => {
                    if let Taken::Delta(delta) = taken {
                        self.queue.push(delta).await;
                    }
                }
            }
        }
    }

    /// Makes an event ready for the place where it goes: into a list that is still being collected, or to the store.
    fn take_in(&self, event: WatchEvent<K>, machine: &Machine) -> Result<Taken<K>, Error> {
        let streaming = machine.is_streaming();
        Ok(match event {
            WatchEvent::Added(item) | WatchEvent::Modified(item) if streaming => {
                Taken::There(self.listed(item, machine)?)
            }
            WatchEvent::Deleted(item) if streaming => Taken::Gone(self.watched(item)?),
            WatchEvent::Added(item) | WatchEvent::Modified(item) => {
                Taken::Delta(Delta::Upsert(self.watched(item)?))
            }
            WatchEvent::Deleted(item) => Taken::Delta(Delta::Deleted(self.watched(item)?)),
            WatchEvent::Bookmark { version, .. } => Taken::Delta(Delta::Bookmark(version, self.scope)),
            WatchEvent::Failure(status) => return Err(Error::status(status)),
        })
    }

    fn listed(&self, item: RawObject<K>, machine: &Machine) -> Result<queue::Listed<K>, Error> {
        check_namespace(self.namespace.as_deref(), item.key())?;
        self.intake.listed(item, machine.is_trusting())
    }

    fn watched(&self, item: RawObject<K>) -> Result<Unplaced<K>, Error> {
        check_namespace(self.namespace.as_deref(), item.key())?;
        self.intake.watched(item)
    }

    async fn replace(&self, collected: &mut Collected<K>, version: ResourceVersion) {
        let items = collected.take();
        let trusting = collected.trusting;
        let scope = self.scope;
        self.queue
            .push(Delta::Replaced(Replaced {
                items,
                version,
                scope,
                trusting,
                kind_removed: false,
            }))
            .await;
    }

    /// Empties the cache because the kind is not served any more.
    async fn remove_kind(&self, version: ResourceVersion) {
        let scope = self.scope;
        self.queue
            .push(Delta::Replaced(Replaced {
                items: Vec::new(),
                version,
                scope,
                trusting: true,
                kind_removed: true,
            }))
            .await;
    }

    async fn failed(&self, machine: &mut Machine, error: Error, doing: Operation) -> Action {
        match machine.failed(Instant::now(), error) {
            Failed::Next(next) => self.told(next, doing),
            Failed::Check(failure) => {
                let served = self.is_served().await;
                let Checked { gone, next } = machine.checked(Instant::now(), failure, served);
                let action = self.told(next, doing);
                if let Some(version) = gone {
                    self.remove_kind(version).await;
                }
                action
            }
        }
    }

    /// What discovery says; none if it does not.
    async fn is_served(&self) -> Option<bool> {
        match timeout(machine::DISCOVERY_ANSWER, self.source.is_served()).await {
            Ok(Ok(served)) => Some(served),
            // The failure that led here is told, and this one says less.
            Ok(Err(error)) => {
                tracing::debug!(resource = %self.resource, error = %Chain(&error), "discovery does not say whether it is served");
                None
            }
            Err(_) => None,
        }
    }

    fn note(&self, note: Note) {
        self.intake.noted(Instant::now(), self.scope, note);
    }

    fn told(&self, next: Next, doing: Operation) -> Action {
        self.complain(next.complaint, doing);
        next.action
    }

    fn complain(&self, complaint: Option<Error>, doing: Operation) {
        if let Some(complaint) = complaint {
            self.intake.report(&complaint.with_context(doing, &self.resource));
        }
    }
}

/// Refuses an object of another namespace than the requested one. In the cache, it would overwrite an object that another
/// reflector is responsible for.
pub(crate) fn check_namespace(namespace: Option<&str>, key: &Key) -> Result<(), Error> {
    match namespace {
        Some(namespace) if !key.is_in(namespace) => Err(Error::bad_data(format!(
            "{key} is not in namespace {namespace:?}"
        ))),
        _ => Ok(()),
    }
}

/// The span of one event of a watch: from its bytes to the delta queue.
fn frame<K: Kind>(event: &WatchEvent<K>) -> Span {
    match event {
        WatchEvent::Added(item) | WatchEvent::Modified(item) | WatchEvent::Deleted(item) => {
            tracing::trace_span!("frame", key = %item.key(), version = %item.version())
        }
        WatchEvent::Bookmark { version, .. } => tracing::trace_span!("frame", bookmark = %version),
        WatchEvent::Failure(_) => Span::none(),
    }
}

/// The end of a page of a list.
struct Page {
    version: ResourceVersion,
    continue_token: Option<String>,
    items: usize,
}

enum PageError {
    Failed(Error),
    TimedOut,
}

impl From<Error> for PageError {
    fn from(error: Error) -> PageError {
        PageError::Failed(error)
    }
}

/// Waits for a part of a list for as long as the machine allows, counted anew for each part.
async fn in_time<F: Future>(machine: &Machine, part: F) -> Result<F::Output, PageError> {
    let deadline = machine.deadline(Instant::now());
    timeout_at(deadline, part).await.map_err(|_| PageError::TimedOut)
}

impl<K> Collected<K> {
    fn new(most: u64) -> Collected<K> {
        Collected {
            items: Vec::new(),
            trusting: true,
            contradiction: None,
            bytes: 0,
            most,
        }
    }

    fn clear(&mut self) {
        self.items = Vec::new();
        self.contradiction = None;
        self.bytes = 0;
    }

    /// Counts what is about to be collected; a server could go on for ever.
    fn make_room(&mut self, bytes: usize) -> Result<(), Error> {
        // Whatever comes takes its place in memory, however small it is.
        self.bytes += (bytes as u64).max(LEAST_ITEM);
        if self.bytes > self.most {
            return Err(list_exceeded(self.most));
        }
        Ok(())
    }

    fn add(&mut self, item: queue::Listed<K>, machine: &Machine) {
        // The cache holds everything as it was at its version, so an older object that it does not hold has no place there.
        if let queue::Listed::New(new) = &item
            && self.contradiction.is_none()
            && machine.contradicts(&new.version)
        {
            self.contradiction = Some(new.version.clone());
        }
        self.items.push(Came::There(item));
    }

    fn remove(&mut self, gone: Unplaced<K>) {
        let Unplaced { hash, key, .. } = gone;
        self.items.push(Came::Gone { hash, key });
    }

    /// What is there in the end, by hash; of several states of one object the last that came.
    fn take(&mut self) -> Vec<queue::Listed<K>> {
        self.bytes = 0;
        let mut items = std::mem::take(&mut self.items);
        items.reverse();
        items.sort_by(|a, b| a.place().cmp(&b.place()));
        items.dedup_by(|later, kept| later.place() == kept.place());
        let there = items.into_iter().filter_map(|came| match came {
            Came::There(item) => Some(item),
            Came::Gone { .. } => None,
        });
        there.collect()
    }
}

impl<K> Came<K> {
    fn place(&self) -> (u64, &Key) {
        match self {
            Came::There(item) => (item.hash(), item.key()),
            Came::Gone { hash, key } => (*hash, key),
        }
    }
}
