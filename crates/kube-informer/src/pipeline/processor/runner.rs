//! The tasks that call handlers, one variant for each kind of handler.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use futures::future::BoxFuture;
use tokio::time::Instant;
use tracing::Instrument;

use super::listener::Listener;
use super::mailbox::{BlockingReceiver, Mailbox, deliver_on_blocking_threads};
use super::queue::Queue;
use crate::handler::{Event, EventHandler};
use crate::object::Kind;
use crate::util::panics::{caught, caught_in};

/// Number of events that a task handles before it yields to other tasks.
const MAX_EVENTS_PER_TURN: u32 = 64;

/// The task that calls a handler.
pub(super) type Runner<K> = Box<dyn FnOnce(Arc<Listener<K>>) -> BoxFuture<'static, ()> + Send>;

/// Returns a task that calls a non-blocking handler directly.
pub(super) fn inline<K: Kind>(handler: impl EventHandler<K>) -> Runner<K> {
    Box::new(move |listener| {
        Box::pin(async move {
            let mut caller = Caller::new(listener, handler);
            let mut turn = 0;
            while let Some(event) = caller.next().await {
                caller.call(event);
                turn += 1;
                if turn % MAX_EVENTS_PER_TURN == 0 {
                    caller.yield_once().await;
                }
            }
        })
    })
}

/// Returns a task that calls a blocking handler on threads for blocking code.
pub(super) fn blocking<K: Kind>(handler: impl EventHandler<K>) -> Runner<K> {
    Box::new(move |listener| Box::pin(deliver_on_blocking_threads(Caller::new(listener, handler))))
}

/// Returns a task that awaits an asynchronous handler, one event at a time.
pub(super) fn asynchronous<K, F, A>(handler: F) -> Runner<K>
where
    K: Kind,
    F: FnMut(Event<K>) -> A + Send + 'static,
    A: Future<Output = ()> + Send + 'static,
{
    Box::new(move |listener| {
        Box::pin(async move {
            let mut caller = Caller::new(listener, handler);
            let mut turn = 0;
            while let Some(event) = caller.next().await {
                caller.call_async(event).await;
                turn += 1;
                if turn % MAX_EVENTS_PER_TURN == 0 {
                    caller.yield_once().await;
                }
            }
        })
    })
}

/// A handler and its listener.
struct Caller<K, H> {
    listener: Arc<Listener<K>>,
    handler: H,
    /// End of the last call, reused as the start of the next one because reading the clock is slow.
    last_end: Option<Instant>,
}

impl<K: Kind, H: Send> Caller<K, H> {
    fn new(listener: Arc<Listener<K>>, handler: H) -> Caller<K, H> {
        Caller {
            listener,
            handler,
            last_end: None,
        }
    }

    /// Takes the next event when there is one.
    async fn next(&mut self) -> Option<Event<K>> {
        poll_fn(|context| {
            let next = self.listener.poll_take(context);
            if next.is_pending() {
                self.pause();
            }
            next
        })
        .await
    }

    fn begin_call(&mut self) -> Instant {
        let began = self.last_end.take().unwrap_or_else(Instant::now);
        self.listener.call_began(began);
        began
    }

    fn end_call(&mut self, began: Instant, result: Result<(), String>) {
        if let Err(message) = result {
            self.listener.panicked(&message);
        }
        self.last_end = Some(self.listener.call_ended(began));
    }

    /// Records that no call is running.
    fn pause(&mut self) {
        self.last_end = None;
        self.listener.clear_call();
    }

    /// Yields to other tasks once.
    ///
    /// tokio's `yield_now` is not used: it defers the task until its worker has no other tasks or has polled
    /// about sixty of them, which takes long beside a busy reflector and controller.
    async fn yield_once(&mut self) {
        self.pause();
        let mut yielded = false;
        poll_fn(|context| {
            if yielded {
                return Poll::Ready(());
            }
            yielded = true;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

impl<K: Kind, H: EventHandler<K>> Caller<K, H> {
    fn call(&mut self, event: Event<K>) {
        let began = self.begin_call();
        let _span = self.listener.span(&event).entered();
        let handler = &mut self.handler;
        let result = self
            .listener
            .current_handler()
            .sync(|| caught(|| handler.handle(event)));
        self.end_call(began, result);
    }
}

impl<K, F, A> Caller<K, F>
where
    K: Kind,
    F: FnMut(Event<K>) -> A + Send,
    A: Future<Output = ()> + Send,
{
    async fn call_async(&mut self, event: Event<K>) {
        let began = self.begin_call();
        let span = self.listener.span(&event);
        let handler = &mut self.handler;
        let work = async { handler(event).await }.instrument(span);
        let result = self.listener.current_handler().scope(caught_in(work)).await;
        self.end_call(began, result);
    }
}

impl<K: Kind, H: EventHandler<K>> BlockingReceiver for Caller<K, H> {
    type Backlog = Queue<K>;

    fn mailbox(&self) -> &Mailbox<Queue<K>> {
        self.listener.mailbox()
    }

    fn handle(&mut self, (event, waiting_since): (Event<K>, Option<Instant>)) {
        self.listener.count_delivery(waiting_since);
        self.call(event);
    }

    fn on_idle(&mut self) {
        self.pause();
    }
}
