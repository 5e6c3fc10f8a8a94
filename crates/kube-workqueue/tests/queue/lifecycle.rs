//! Adding, taking, shutdown and drain.

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use futures::poll;
use kube_workqueue::{AddOptions, WorkQueue};

use crate::{TIMEOUT, soon};

#[tokio::test(start_paused = true)]
async fn an_item_is_queued_once() {
    let queue = WorkQueue::new("q");
    for item in ["a", "b", "a", "b", "a"] {
        queue.add(item);
    }
    assert_eq!(queue.len(), 2);
    let first = soon(queue.get()).await.expect("an item");
    assert_eq!((*first, queue.len(), queue.running()), ("a", 1, 1));
    drop(first);
    assert_eq!(*soon(queue.get()).await.expect("an item"), "b");
    assert!(queue.is_empty() && queue.try_get().is_none());
}

#[tokio::test(start_paused = true)]
async fn an_item_added_while_running_is_queued_once_and_only_afterwards() {
    let queue = WorkQueue::new("q");
    queue.add("a");
    let item = soon(queue.get()).await.expect("an item");
    queue.add("a");
    queue.add("a");
    assert_eq!(queue.len(), 0);
    let mut other = pin!(queue.get());
    assert!(poll!(&mut other).is_pending(), "no second worker gets the item");
    item.done();
    let again = soon(other).await.expect("a requeued item");
    assert_eq!(*again, "a");
    again.done();
    assert!(queue.is_empty());
}

#[tokio::test(start_paused = true)]
async fn higher_priority_is_first_and_a_later_add_can_raise_it() {
    let queue = WorkQueue::new("q");
    let with = |priority| AddOptions::new().priority(priority);
    for (item, priority) in [("low", -10), ("a", 0), ("high", 5), ("b", 0), ("low", 9)] {
        queue.add_with(item, with(priority));
    }
    // A lower priority changes nothing.
    queue.add_with("high", with(-7));
    let mut order = Vec::new();
    while let Some(item) = queue.try_get() {
        order.push((*item, item.priority()));
    }
    assert_eq!(order, [("low", 9), ("high", 5), ("a", 0), ("b", 0)]);
}

#[tokio::test(start_paused = true)]
async fn after_a_shutdown_queued_items_are_processed_and_adds_are_rejected() {
    let queue = WorkQueue::new("q");
    queue.add("a");
    let running = soon(queue.get()).await.expect("an item");
    queue.add("a");
    queue.add("b");
    queue.shut_down();
    queue.add("c");
    queue.add_after("d", Duration::from_secs(1));
    queue.add_rate_limited("e");
    assert_eq!((queue.requeues(&"e"), queue.delayed()), (0, 0));
    assert_eq!(*soon(queue.get()).await.expect("an item"), "b");
    running.done();
    assert_eq!(
        *soon(queue.get()).await.expect("it was added before the shutdown"),
        "a"
    );
    assert!(soon(queue.get()).await.is_none());
    assert!(queue.is_shut_down());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_wakes_all_waiters() {
    let queue: WorkQueue<&str> = WorkQueue::new("q");
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.get().await.is_none() })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.shut_down();
    for waiting in waiting {
        assert!(soon(waiting).await.expect("an end"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_queued_and_running_items() {
    let queue = WorkQueue::new("q");
    queue.add("a");
    queue.add("b");
    queue.add_after("later", Duration::from_secs(5));
    let first = soon(queue.get()).await.expect("an item");
    queue.add("a");
    let mut drain = pin!(queue.drain(TIMEOUT));
    assert!(poll!(&mut drain).is_pending());
    queue.add("refused");
    let second = queue.try_get().expect("an item");
    first.done();
    assert!(
        poll!(&mut drain).is_pending(),
        "one item is running, one was requeued"
    );
    second.done();
    assert!(poll!(&mut drain).is_pending(), "one item is queued");
    drop(queue.try_get().expect("a requeued item"));
    let Poll::Ready(left) = poll!(drain) else {
        panic!("the drain ends with the last item, not with its time limit");
    };
    assert!(left.is_drained());
    assert_eq!(left.delayed, ["later"], "delayed items are returned");
}

#[tokio::test(start_paused = true)]
async fn a_drain_times_out_and_returns_the_remaining_items() {
    let queue = WorkQueue::new("q");
    for item in ["a", "b"] {
        queue.add(item);
    }
    let stuck = soon(queue.get()).await.expect("an item");
    let left = soon(queue.drain(Duration::from_secs(3))).await;
    assert_eq!(
        (left.is_drained(), left.queued, left.running),
        (false, vec!["b"], vec!["a"])
    );
    drop(stuck);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_a_drain() {
    let queue = WorkQueue::new("q");
    queue.add("a");
    let stuck = soon(queue.get()).await.expect("an item");
    let mut drain = pin!(queue.drain(TIMEOUT));
    assert!(poll!(&mut drain).is_pending());
    queue.shut_down();
    assert_eq!(
        poll!(&mut drain).map(|left| left.running),
        std::task::Poll::Ready(vec!["a"])
    );
    // A drain that starts after a shutdown waits.
    let mut drain = pin!(queue.drain(TIMEOUT));
    assert!(poll!(&mut drain).is_pending());
    stuck.done();
    assert!(soon(drain).await.is_drained());
}

#[tokio::test(start_paused = true)]
async fn dropping_a_wait_loses_nothing() {
    let queue = WorkQueue::new("q");
    {
        let mut dropped = Box::pin(queue.get());
        assert!(poll!(&mut dropped).is_pending());
        let mut other = pin!(queue.get());
        assert!(poll!(&mut other).is_pending());
        // The first waiter is woken and dropped.
        queue.add("a");
        drop(dropped);
        assert_eq!(*soon(other).await.expect("an item"), "a");
    }
    assert_eq!(queue.running(), 0);
}
