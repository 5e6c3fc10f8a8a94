//! What is known to go wrong in other queues.

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::poll;
use kube_workqueue::WorkQueue;
use tokio::time::advance;

use crate::{LONG, soon};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_of_an_item_that_is_done() {
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
    drop(queue.try_get().expect("its time has come"));
    assert!(kept.upgrade().is_none());
}

#[tokio::test(start_paused = true)]
async fn all_that_is_due_at_once_comes_in_the_order_of_the_times() {
    let queue = WorkQueue::new("q");
    queue.add_after("third", 3 * SECOND);
    queue.add_after("second", 2 * SECOND);
    queue.add_after("first", SECOND);
    queue.add_after("also third", 3 * SECOND);
    advance(10 * SECOND).await;
    let items: Vec<_> = std::iter::from_fn(|| queue.try_get().map(|item| *item)).collect();
    assert_eq!(items, ["first", "second", "third", "also third"]);
}

/// Who asks while a drain waits is told that it is over, and yet what comes back is there for the one who asks then.
#[tokio::test(start_paused = true)]
async fn what_comes_back_in_a_drain_can_be_got_after_others_were_told_of_the_end() {
    let queue = WorkQueue::new("q");
    queue.add("a");
    let item = soon(queue.get()).await.expect("an item");
    queue.add("a");
    let mut drain = pin!(queue.drain(LONG));
    assert!(poll!(&mut drain).is_pending());
    assert!(soon(queue.get()).await.is_none());
    item.done();
    let again = soon(queue.get()).await.expect("it came back");
    assert!(poll!(&mut drain).is_pending());
    again.done();
    assert!(soon(queue.get()).await.is_none());
    assert!(soon(drain).await.is_drained());
}

#[tokio::test(start_paused = true)]
async fn a_later_drain_does_not_hold_one_that_a_shutdown_let_go() {
    let queue = WorkQueue::new("q");
    queue.add("a");
    let stuck = soon(queue.get()).await.expect("an item");
    let mut first = pin!(queue.drain(LONG));
    assert!(poll!(&mut first).is_pending());
    queue.shut_down();
    let mut second = pin!(queue.drain(LONG));
    assert!(poll!(&mut second).is_pending());
    assert!(poll!(&mut first).is_ready());
    stuck.done();
    assert!(soon(second).await.is_drained());
}

/// Those who wait leave while items come and the queue is shut down: nobody holds an item that nobody gets.
#[tokio::test(start_paused = true)]
async fn a_shutdown_beside_waits_that_end_leaves_no_item_and_no_wait() {
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
async fn to_print_a_queue_changes_nothing() {
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
