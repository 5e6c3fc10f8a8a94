//! When each metric changes, as in client-go.

use std::time::Duration;

use kube_workqueue::{AddOptions, WorkQueue};
use tokio::time::advance;

use crate::TestRegistry;

const SECOND: Duration = Duration::from_secs(1);

fn shown() -> (TestRegistry, WorkQueue<&'static str>) {
    let shown = TestRegistry::new();
    let queue = WorkQueue::builder("q").metrics(&shown.metrics).build();
    (shown, queue)
}

#[tokio::test(start_paused = true)]
async fn an_add_of_a_running_item_counts_and_starts_its_queue_time() {
    let (shown, queue) = shown();
    queue.add("a");
    let item = queue.try_get().expect("a");
    assert_eq!(shown.q(["adds_total", "depth"]), ["1", "0"]);
    queue.add("a");
    assert_eq!(shown.q(["adds_total", "depth"]), ["2", "1"]);
    advance(SECOND).await;
    queue.add("a");
    assert_eq!(shown.q(["adds_total", "depth"]), ["2", "1"]);
    item.done();
    assert_eq!(shown.q(["adds_total", "depth"]), ["2", "1"]);
    advance(SECOND).await;
    let again = queue.try_get().expect("a");
    assert_eq!(shown.q(["queue_duration_seconds_sum"]), ["2.0"]);
    assert_eq!(shown.q(["adds_total", "depth"]), ["2", "0"]);
    again.done();
    assert_eq!(shown.q(["work_duration_seconds_sum"]), ["1.0"]);
    assert_eq!(shown.q(["work_duration_seconds_count"]), ["2"]);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_item_counts_as_added_when_it_is_due() {
    let (shown, queue) = shown();
    queue.add_after("a", SECOND);
    queue.add_after("b", 9 * SECOND);
    let numbers = || shown.q(["adds_total", "depth", "delayed"]);
    assert_eq!(numbers(), ["0", "0", "2"]);
    advance(3 * SECOND).await;
    assert_eq!(numbers(), ["1", "1", "1"]);
    advance(SECOND).await;
    let item = queue.try_get().expect("a");
    assert_eq!(shown.q(["queue_duration_seconds_sum"]), ["3.0"]);
    item.done();
}

#[tokio::test(start_paused = true)]
async fn a_delayed_item_that_becomes_due_while_running_counts_then() {
    let (shown, queue) = shown();
    queue.add("a");
    let item = queue.try_get().expect("a");
    queue.add_after("a", SECOND);
    advance(2 * SECOND).await;
    assert_eq!(shown.q(["adds_total", "depth"]), ["2", "1"]);
    item.done();
    queue.try_get().expect("a").done();
    assert_eq!(shown.q(["queue_duration_seconds_sum"]), ["1.0"]);
}

#[tokio::test(start_paused = true)]
async fn raising_a_priority_is_not_an_add_and_keeps_the_queue_time() {
    let (shown, queue) = shown();
    queue.add("a");
    advance(SECOND).await;
    queue.add_with("a", AddOptions::new().priority(5));
    advance(SECOND).await;
    queue.try_get().expect("a").done();
    assert_eq!(shown.q(["adds_total"]), ["1"]);
    assert_eq!(shown.q(["queue_duration_seconds_sum"]), ["2.0"]);
}

#[tokio::test(start_paused = true)]
async fn an_add_with_any_delay_counts_as_a_retry() {
    let (shown, queue) = shown();
    queue.add("a");
    assert_eq!(shown.q(["retries_total"]), ["0"]);
    queue.add_after("b", SECOND);
    queue.add_after("b", SECOND);
    queue.add_after("c", Duration::ZERO);
    queue.add_rate_limited("d");
    assert_eq!(shown.q(["retries_total"]), ["4"]);
    queue.add_with("e", AddOptions::new().rate_limited().after(SECOND));
    assert_eq!(shown.q(["retries_total"]), ["5"]);
}

#[tokio::test(start_paused = true)]
async fn rejected_adds_do_not_count() {
    let (shown, queue) = shown();
    queue.add_after("late", SECOND);
    queue.shut_down();
    queue.add("a");
    queue.add_after("b", SECOND);
    queue.add_after("c", Duration::ZERO);
    queue.add_rate_limited("d");
    advance(2 * SECOND).await;
    assert_eq!(shown.q(["adds_total", "depth"]), ["0", "0"]);
    assert_eq!(shown.q(["retries_total", "delayed"]), ["1", "1"]);
}
