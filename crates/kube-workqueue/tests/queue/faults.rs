//! Known faults of other queues.

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::poll;
use kube_workqueue::WorkQueue;
use tokio::time::advance;

use crate::{TIMEOUT, soon};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_finished_item_leaves_no_state() {
    let queue: WorkQueue<Arc<str>> = WorkQueue::new("q");
    let name: Arc<str> = "a".into();
    let kept: Weak<str> = Arc::downgrade(&name);
    queue.add_rate_limited(Arc::clone(&name));
    queue.add_after(Arc::clone(&name), SECOND);
    queue.add(name);
    let item = soon(queue.get()).await.expect("an item");
    queue.forget(&item);
    item.done();
    assert!(kept.upgrade().is_some(), "it is delayed");
    advance(SECOND).await;
    drop(queue.try_get().expect("a due item"));
    assert!(kept.upgrade().is_none());
}

#[tokio::test(start_paused = true)]
async fn items_that_are_due_together_are_ordered_by_time() {
    let queue = WorkQueue::new("q");
    queue.add_after("third", 3 * SECOND);
    queue.add_after("second", 2 * SECOND);
    queue.add_after("first", SECOND);
    queue.add_after("also third", 3 * SECOND);
    advance(10 * SECOND).await;
    let items: Vec<_> = std::iter::from_fn(|| queue.try_get().map(|item| *item)).collect();
    assert_eq!(items, ["first", "second", "third", "also third"]);
}

/// During a drain, `get` returns none while nothing is queued, and an item that is requeued later can still be taken.
#[tokio::test(start_paused = true)]
async fn an_item_requeued_during_a_drain_can_be_taken_after_others_saw_the_end() {
    let queue = WorkQueue::new("q");
    queue.add("a");
    let item = soon(queue.get()).await.expect("an item");
    queue.add("a");
    let mut drain = pin!(queue.drain(TIMEOUT));
    assert!(poll!(&mut drain).is_pending());
    assert!(soon(queue.get()).await.is_none());
    item.done();
    let again = soon(queue.get()).await.expect("a requeued item");
    assert!(poll!(&mut drain).is_pending());
    again.done();
    assert!(soon(queue.get()).await.is_none());
    assert!(soon(drain).await.is_drained());
}

#[tokio::test(start_paused = true)]
async fn a_drain_ended_by_a_shutdown_does_not_wait_for_a_later_drain() {
    let queue = WorkQueue::new("q");
    queue.add("a");
    let stuck = soon(queue.get()).await.expect("an item");
    let mut first = pin!(queue.drain(TIMEOUT));
    assert!(poll!(&mut first).is_pending());
    queue.shut_down();
    let mut second = pin!(queue.drain(TIMEOUT));
    assert!(poll!(&mut second).is_pending());
    assert!(poll!(&mut first).is_ready());
    stuck.done();
    assert!(soon(second).await.is_drained());
}

/// Waiters are dropped while items are added and the queue is shut down: no item is lost.
#[tokio::test(start_paused = true)]
async fn a_shutdown_with_cancelled_waits_leaves_no_item_and_no_wait() {
    for leaving in 0..4 {
        let queue = WorkQueue::new("q");
        let mut waits: Vec<_> = (0..4).map(|_| Box::pin(queue.get())).collect();
        for wait in &mut waits {
            assert!(poll!(wait).is_pending());
        }
        queue.add("a");
        queue.add("b");
        drop(waits.remove(leaving));
        queue.shut_down();
        let mut items = Vec::new();
        for wait in waits {
            items.extend(soon(wait).await.map(|item| *item));
        }
        assert_eq!(items, ["a", "b"]);
        assert!(soon(queue.get()).await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn formatting_a_queue_does_not_change_it() {
    let queue = WorkQueue::new("q");
    queue.add("a");
    queue.add("b");
    queue.add_after("c", SECOND);
    let item = queue.try_get().expect("an item");
    let printed = format!("{queue:?}");
    assert!(printed.contains("len: 1, running: 1, delayed: 1"), "{printed}");
    assert_eq!(
        format!("{queue:?} {item:?}"),
        format!("{printed} ItemGuard(\"a\")")
    );
}
