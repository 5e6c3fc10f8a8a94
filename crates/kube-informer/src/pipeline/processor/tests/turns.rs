//! Tests of how handlers yield to other tasks and threads.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;

use crate::pipeline::processor::mailbox::{Backlog, BlockingReceiver, MAX_YIELDS, Mailbox, deliver_burst};
use crate::pipeline::processor::{Batch, HandlerOptions, Processor};
use crate::pipeline::store::Seed;
use crate::pipeline::store::tests::{TestStore, key, tagged};

const EVENTS: usize = 200;

/// Runs a handler on a runtime with one thread. Returns the number of handled events at each turn of another
/// task.
async fn handled_at_each_turn(add: impl FnOnce(&Processor<ConfigMap>, Arc<AtomicUsize>)) -> Vec<usize> {
    let mut cache = TestStore::new(Seed::new(1));
    let processor = Processor::new(Arc::clone(&cache.store), Duration::ZERO);
    let handled = Arc::new(AtomicUsize::new(0));
    add(&processor, Arc::clone(&handled));
    let objects = (0..EVENTS).map(|number| tagged(&key(&format!("a/{number}")), 1, 1, &[]));
    let changes = cache.replace(objects.collect(), 1);
    let notification = processor.prepare();
    drop(cache.publish());
    let batch = Batch {
        changes,
        listed: true,
    };
    notification.send(&batch, true);
    processor.start(tokio::runtime::Handle::current());
    let mut turns = Vec::new();
    let other = poll_fn(move |context| {
        turns.push(handled.load(Ordering::Relaxed));
        if turns.last() == Some(&EVENTS) {
            return Poll::Ready(std::mem::take(&mut turns));
        }
        context.waker().wake_by_ref();
        Poll::Pending
    });
    let turns = tokio::spawn(other).await.unwrap();
    processor.stop().await;
    turns
}

#[tokio::test]
async fn a_non_blocking_handler_yields_every_64_events() {
    let turns = handled_at_each_turn(|processor, handled| {
        let handler = move |_| {
            handled.fetch_add(1, Ordering::Relaxed);
        };
        processor
            .add(handler, HandlerOptions::new().never_blocks())
            .unwrap();
    });
    assert_eq!(turns.await, [64, 128, 192, EVENTS]);
}

#[tokio::test]
async fn an_async_handler_yields_every_64_events() {
    let turns = handled_at_each_turn(|processor, handled| {
        let handler = move |_| {
            handled.fetch_add(1, Ordering::Relaxed);
            std::future::ready(())
        };
        processor.add_async(handler, HandlerOptions::new()).unwrap();
    });
    assert_eq!(turns.await, [64, 128, 192, EVENTS]);
}

#[derive(Default)]
struct Events(VecDeque<u32>);

impl Backlog for Events {
    type Event = u32;

    fn pop(&mut self) -> Option<u32> {
        self.0.pop_front()
    }

    fn is_waiting(&self) -> bool {
        !self.0.is_empty()
    }

    fn is_past_initial(&self) -> bool {
        true
    }

    fn clear(&mut self) -> Events {
        std::mem::take(self)
    }
}

/// Counts idle calls and adds another event during one of them.
struct Receiver {
    mailbox: Mailbox<Events>,
    handled: Vec<u32>,
    idle_calls: u32,
    next_event_at: u32,
}

impl BlockingReceiver for Receiver {
    type Backlog = Events;

    fn mailbox(&self) -> &Mailbox<Events> {
        &self.mailbox
    }

    fn handle(&mut self, event: u32) {
        self.handled.push(event);
    }

    fn on_idle(&mut self) {
        self.idle_calls += 1;
        if self.idle_calls == self.next_event_at {
            self.mailbox.add(|events| events.0.push_back(2));
        }
    }
}

/// Delivers an event, and one that arrives later, in one burst.
fn burst(next_event_at: u32) -> Receiver {
    let mut receiver = Receiver {
        mailbox: Mailbox::new(Events([1].into())),
        handled: Vec::new(),
        idle_calls: 0,
        next_event_at,
    };
    deliver_burst(&mut receiver);
    receiver
}

#[test]
fn a_blocking_thread_yields_some_times_before_it_is_released() {
    let in_time = burst(MAX_YIELDS);
    assert_eq!(in_time.handled, [1, 2]);
    assert_eq!(
        in_time.idle_calls,
        2 * MAX_YIELDS + 1,
        "the wait starts again after each event"
    );
    let too_late = burst(MAX_YIELDS + 1);
    assert_eq!(too_late.handled, [1]);
    assert_eq!(too_late.idle_calls, MAX_YIELDS + 1);
    assert!(
        too_late.mailbox.read(Backlog::is_waiting),
        "the next burst delivers it"
    );
}
