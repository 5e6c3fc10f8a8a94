//! Delayed items.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::poll;
use kube_workqueue::{AddOptions, Exponential, ItemGuard, WorkQueue};
use tokio::sync::Barrier;
use tokio::time::{Instant, advance};

use crate::histories::PolledFuture;
use crate::soon;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_delayed_item_is_returned_when_it_is_due() {
    let queue = WorkQueue::new("q");
    queue.add_after("b", 2 * SECOND);
    queue.add_after("a", SECOND);
    queue.add_after("now", Duration::ZERO);
    assert_eq!((queue.len(), queue.delayed()), (1, 2));
    let began = Instant::now();
    for (item, at) in [("now", 0), ("a", 1), ("b", 2)] {
        assert_eq!(*soon(queue.get()).await.expect("an item"), item);
        assert_eq!(began.elapsed().as_secs(), at);
    }
}

#[tokio::test(start_paused = true)]
async fn of_several_delays_the_earliest_wins() {
    let queue = WorkQueue::new("q");
    queue.add_after("a", 10 * SECOND);
    queue.add_after("a", SECOND);
    queue.add_after("a", 5 * SECOND);
    assert_eq!(queue.delayed(), 1);
    let began = Instant::now();
    drop(soon(queue.get()).await.expect("an item"));
    assert_eq!(began.elapsed(), SECOND);
    advance(20 * SECOND).await;
    assert_eq!((queue.len(), queue.delayed()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_add_does_not_remove_the_delayed_add() {
    let queue = WorkQueue::new("q");
    queue.add_after("a", 5 * SECOND);
    queue.add("a");
    let now = queue.try_get().expect("at once");
    assert_eq!(*now, "a");
    // It becomes due while it is running, so it is queued afterwards.
    advance(6 * SECOND).await;
    assert_eq!((queue.len(), queue.delayed()), (0, 0));
    now.done();
    assert_eq!(queue.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_is_woken_for_an_earlier_due_time() {
    let queue = WorkQueue::new("q");
    queue.add_after("late", 100 * SECOND);
    let mut waiting = pin!(queue.get());
    assert!(poll!(&mut waiting).is_pending());
    queue.add_after("early", SECOND);
    let began = Instant::now();
    assert_eq!(*soon(waiting).await.expect("an item"), "early");
    assert_eq!(began.elapsed(), SECOND);
}

/// The waiter with the timer may be dropped or get another item: another waiter takes the timer.
#[tokio::test(start_paused = true)]
async fn the_timer_moves_to_another_waiter() {
    let queue = WorkQueue::new("q");
    let began = Instant::now();
    queue.add_after("a", 10 * SECOND);
    let mut first = Box::pin(queue.get());
    let mut second = Box::pin(queue.get());
    let mut third = Box::pin(queue.get());
    for waiting in [&mut first, &mut second, &mut third] {
        assert!(poll!(waiting).is_pending());
    }
    drop(first);
    queue.add("other");
    let other = soon(second).await.expect("an item");
    assert_eq!((*other, began.elapsed()), ("other", Duration::ZERO));
    assert_eq!(*soon(third).await.expect("an item"), "a");
    assert_eq!(began.elapsed(), 10 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn items_due_together_go_to_all_waiters() {
    let queue = WorkQueue::new("q");
    for item in 0..4 {
        queue.add_after(item, SECOND);
    }
    let began = Instant::now();
    let all_have_one = Arc::new(Barrier::new(4));
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let (queue, all_have_one) = (queue.clone(), Arc::clone(&all_have_one));
            tokio::spawn(async move {
                let item = queue.get().await.expect("an item");
                all_have_one.wait().await;
                *item
            })
        })
        .collect();
    let mut items = Vec::new();
    for waiting in waiting {
        items.push(soon(waiting).await.expect("an item"));
    }
    items.sort_unstable();
    assert_eq!((items, began.elapsed()), (vec![0, 1, 2, 3], SECOND));
}

#[tokio::test(start_paused = true)]
async fn delays_grow_with_each_failure_until_it_is_forgotten() {
    let queue = WorkQueue::with_limiter("q", Exponential::new(SECOND, 10 * SECOND));
    for (requeues, wait) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10)] {
        queue.add_rate_limited("a");
        assert_eq!(queue.requeues(&"a"), requeues);
        let began = Instant::now();
        drop(soon(queue.get()).await.expect("an item"));
        assert_eq!(began.elapsed().as_secs(), wait);
    }
    queue.forget(&"a");
    assert_eq!(queue.requeues(&"a"), 0);
    // With its own delay, the longer one wins.
    queue.add_with("a", AddOptions::new().rate_limited().after(7 * SECOND));
    let began = Instant::now();
    drop(soon(queue.get()).await.expect("an item"));
    assert_eq!(began.elapsed(), 7 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn the_longest_delay_does_not_overflow() {
    let queue = WorkQueue::new("q");
    queue.add_after("never", Duration::MAX);
    queue.add_after("soon", SECOND);
    assert_eq!(*soon(queue.get()).await.expect("an item"), "soon");
    assert_eq!(queue.delayed(), 1);
}

/// Reading the length queues due items, and must wake waiters.
#[tokio::test(start_paused = true)]
async fn reading_the_length_wakes_waiters_for_due_items() {
    let queue = WorkQueue::new("q");
    queue.add_after("a", SECOND);
    queue.add_after("b", SECOND);
    let mut first = pin!(queue.get());
    let mut second = pin!(queue.get());
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
    advance(SECOND).await;
    assert_eq!(queue.len(), 2);
    let (first, second) = soon(async { tokio::join!(first, second) }).await;
    assert_eq!((*first.expect("an item"), *second.expect("an item")), ("a", "b"));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_gets_an_item_passes_the_timer_on() {
    let queue = WorkQueue::new("q");
    let began = Instant::now();
    queue.add_after("later", 10 * SECOND);
    let mut first = pin!(queue.get());
    let mut second = pin!(queue.get());
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
    queue.add("now");
    let working = soon(first).await.expect("an item");
    assert_eq!(*working, "now");
    assert_eq!(*soon(second).await.expect("an item"), "later");
    assert_eq!(began.elapsed(), 10 * SECOND);
}

/// A wait that has begun. It is polled only after a wake-up, so that a missing wake-up is noticed.
fn waits<F: Future<Output = Option<ItemGuard<&'static str>>>>(get: F) -> PolledFuture<F> {
    let mut wait = PolledFuture::new(get);
    assert!(matches!(wait.poll_if_woken(), Some(Poll::Pending)));
    wait
}

fn got<F: Future<Output = Option<ItemGuard<&'static str>>>>(
    wait: &mut PolledFuture<F>,
) -> Option<&'static str> {
    match wait.poll_if_woken().expect("it was woken") {
        Poll::Ready(item) => item.map(|item| *item),
        Poll::Pending => None,
    }
}

async fn pass(time: Duration) {
    advance(time).await;
    tokio::task::yield_now().await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_waiter_passes_its_wake_up_and_the_timer_on() {
    let queue = WorkQueue::new("q");
    queue.add_after("later", 10 * SECOND);
    let first = waits(queue.get());
    let (mut second, mut third) = (waits(queue.get()), waits(queue.get()));
    queue.add("now");
    drop(first);
    assert_eq!(got(&mut second), Some("now"));
    assert_eq!(got(&mut third), None, "the other waiter keeps the item");
    pass(10 * SECOND).await;
    assert_eq!(got(&mut third), Some("later"));
}

/// A waiter is woken to take the timer and polls after the item is due: it gets the item, and another takes the timer.
#[tokio::test(start_paused = true)]
async fn a_late_waiter_leaves_the_timer_to_another() {
    let queue = WorkQueue::new("q");
    let (mut first, mut second) = (waits(queue.get()), waits(queue.get()));
    queue.add_after("early", SECOND);
    queue.add_after("late", 10 * SECOND);
    pass(2 * SECOND).await;
    assert_eq!(got(&mut first), Some("early"));
    assert_eq!(got(&mut second), None, "the other waiter keeps the item");
    pass(8 * SECOND).await;
    assert_eq!(got(&mut second), Some("late"));
}
