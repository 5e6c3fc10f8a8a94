//! Items whose time comes.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::poll;
use kube_workqueue::{AddOptions, Exponential, ItemGuard, WorkQueue};
use tokio::sync::Barrier;
use tokio::time::{Instant, advance};

use crate::histories::Waiting;
use crate::soon;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn an_item_comes_when_its_time_has_come() {
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
async fn of_several_times_the_earliest_counts() {
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
async fn an_add_does_not_take_the_delayed_one_away() {
    let queue = WorkQueue::new("q");
    queue.add_after("a", 5 * SECOND);
    queue.add("a");
    let now = queue.try_get().expect("at once");
    assert_eq!(*now, "a");
    // Its time comes while it is worked on: then it comes in line when that is done.
    advance(6 * SECOND).await;
    assert_eq!((queue.len(), queue.delayed()), (0, 0));
    now.done();
    assert_eq!(queue.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_who_waits_already_hears_of_an_earlier_time() {
    let queue = WorkQueue::new("q");
    queue.add_after("late", 100 * SECOND);
    let mut waiting = pin!(queue.get());
    assert!(poll!(&mut waiting).is_pending());
    queue.add_after("early", SECOND);
    let began = Instant::now();
    assert_eq!(*soon(waiting).await.expect("an item"), "early");
    assert_eq!(began.elapsed(), SECOND);
}

/// Whoever looks after the next time may go away, by a dropped wait or with another item: someone else takes over.
#[tokio::test(start_paused = true)]
async fn delays_are_looked_after_by_someone() {
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
async fn those_who_are_due_together_go_to_all_who_wait() {
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
async fn failures_wait_longer_each_time_until_they_are_forgotten() {
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
    // With a delay of its own the longer one counts.
    queue.add_with("a", AddOptions::new().rate_limited().after(7 * SECOND));
    let began = Instant::now();
    drop(soon(queue.get()).await.expect("an item"));
    assert_eq!(began.elapsed(), 7 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_delay_without_end_is_no_accident() {
    let queue = WorkQueue::new("q");
    queue.add_after("never", Duration::MAX);
    queue.add_after("soon", SECOND);
    assert_eq!(*soon(queue.get()).await.expect("an item"), "soon");
    assert_eq!(queue.delayed(), 1);
}

/// To ask for the length brings in line what is due, and those who wait must hear of it.
#[tokio::test(start_paused = true)]
async fn to_look_takes_nothing_away_from_those_who_wait() {
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
async fn one_who_gets_work_hands_over_what_he_looked_after() {
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

/// A wait that has begun. It is polled only when it was woken, or a call that is missing would not be missed.
fn waits<F: Future<Output = Option<ItemGuard<&'static str>>>>(get: F) -> Waiting<F> {
    let mut wait = Waiting::new(get);
    assert!(matches!(wait.poll_if_woken(), Some(Poll::Pending)));
    wait
}

fn got<F: Future<Output = Option<ItemGuard<&'static str>>>>(wait: &mut Waiting<F>) -> Option<&'static str> {
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
async fn one_who_leaves_hands_over_what_he_was_called_for_and_what_he_looked_after() {
    let queue = WorkQueue::new("q");
    queue.add_after("later", 10 * SECOND);
    let first = waits(queue.get());
    let (mut second, mut third) = (waits(queue.get()), waits(queue.get()));
    queue.add("now");
    drop(first);
    assert_eq!(got(&mut second), Some("now"));
    assert_eq!(got(&mut third), None, "it looks after the other");
    pass(10 * SECOND).await;
    assert_eq!(got(&mut third), Some("later"));
}

/// He was called to look after a time, and came so late that it was over: then he has work, and another looks after the next.
#[tokio::test(start_paused = true)]
async fn one_who_comes_late_leaves_the_next_time_to_another() {
    let queue = WorkQueue::new("q");
    let (mut first, mut second) = (waits(queue.get()), waits(queue.get()));
    queue.add_after("early", SECOND);
    queue.add_after("late", 10 * SECOND);
    pass(2 * SECOND).await;
    assert_eq!(got(&mut first), Some("early"));
    assert_eq!(got(&mut second), None, "it looks after the other");
    pass(8 * SECOND).await;
    assert_eq!(got(&mut second), Some("late"));
}
