//! The encoded metrics.

use std::time::Duration;

use kube_workqueue::WorkQueue;
use tokio::time::advance;

use crate::TestRegistry;

#[tokio::test(start_paused = true)]
async fn the_encoded_metrics_of_a_queue() {
    let shown = TestRegistry::new();
    let queue = WorkQueue::builder("q").metrics(&shown.metrics).build();
    for item in ["a", "b", "a"] {
        queue.add(item);
    }
    advance(Duration::from_millis(500)).await;
    let a = queue.try_get().expect("a");
    advance(Duration::from_secs(1)).await;
    let b = queue.try_get().expect("b");
    queue.add("a");
    queue.add("a");
    queue.add("c");
    let c = queue.try_get().expect("c");
    advance(Duration::from_millis(250)).await;
    c.done();
    queue.add_after("d", Duration::from_secs(10));
    assert_eq!(shown.page(), include_str!("page.txt"));
    drop((a, b));
}

#[tokio::test(start_paused = true)]
async fn queues_with_different_names_have_their_own_metrics() {
    let shown = TestRegistry::new();
    assert_eq!(shown.page(), "# EOF\n");
    let numbers = WorkQueue::builder("numbers").metrics(&shown.metrics).build();
    let words = WorkQueue::builder("words").metrics(&shown.metrics).build();
    let unseen = WorkQueue::new("unseen");
    numbers.add(1);
    words.add("a");
    words.add("b");
    unseen.add(());
    let depth = |name: &str| shown.with("depth", &format!("name=\"{name}\""));
    assert_eq!(depth("numbers").as_deref(), Some("1"));
    assert_eq!(depth("words").as_deref(), Some("2"));
    assert_eq!(depth("unseen"), None);
    assert_eq!(shown.page().matches("# TYPE workqueue_depth gauge\n").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn queues_with_one_name_share_metrics() {
    let shown = TestRegistry::new();
    let [one, other] = [0, 1].map(|_| WorkQueue::builder("q").metrics(&shown.metrics).build());
    one.add("a");
    other.add("a");
    other.add("b");
    assert_eq!(shown.q(["depth", "adds_total"]), ["3", "3"]);
    let first = one.try_get();
    advance(Duration::from_secs(2)).await;
    let second = other.try_get();
    advance(Duration::from_secs(1)).await;
    assert_eq!(shown.q(["running"]), ["2"]);
    assert_eq!(shown.q(["unfinished_work_seconds"]), ["4.0"]);
    assert_eq!(shown.q(["longest_running_processor_seconds"]), ["3.0"]);
    assert_eq!(shown.page().matches("\nworkqueue_depth{").count(), 1);
    drop((first, second));
}

#[tokio::test(start_paused = true)]
async fn metrics_of_a_dropped_queue_disappear() {
    let shown = TestRegistry::new();
    let build = |name| WorkQueue::builder(name).metrics(&shown.metrics).build();
    let (one, other, third) = (build("q"), build("q"), build("third"));
    for queue in [&one, &other, &third] {
        queue.add("a");
    }
    drop(third);
    assert!(!shown.page().contains("third"));
    // Its counts stay while another queue with the name exists, also those since the last encoding.
    one.add("b");
    drop(one);
    assert_eq!(shown.q(["depth", "adds_total"]), ["1", "3"]);
    drop(other);
    assert_eq!(shown.page(), "# EOF\n");
    let again = build("q");
    assert_eq!(shown.q(["adds_total"]), ["0"]);
    drop(again);
}

#[tokio::test(start_paused = true)]
async fn a_queue_works_after_its_registry_is_dropped() {
    let TestRegistry { registry, metrics } = TestRegistry::new();
    drop(registry);
    let queue = WorkQueue::builder("q").metrics(&metrics).build();
    queue.add("a");
    assert_eq!(queue.try_get().as_deref(), Some(&"a"));
}
