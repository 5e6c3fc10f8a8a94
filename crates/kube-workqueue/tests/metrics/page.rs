//! The page as it is read, and who is on it.

use std::time::Duration;

use kube_workqueue::WorkQueue;
use tokio::time::advance;

use crate::Shown;

#[tokio::test(start_paused = true)]
async fn the_page_of_a_queue_with_a_history() {
    let shown = Shown::new();
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
async fn queues_of_several_names_stand_side_by_side() {
    let shown = Shown::new();
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
async fn queues_of_one_name_are_shown_as_one() {
    let shown = Shown::new();
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
async fn a_queue_that_is_dropped_is_shown_no_more() {
    let shown = Shown::new();
    let build = |name| WorkQueue::builder(name).metrics(&shown.metrics).build();
    let (one, other, third) = (build("q"), build("q"), build("third"));
    for queue in [&one, &other, &third] {
        queue.add("a");
    }
    drop(third);
    assert!(!shown.page().contains("third"));
    // What it counted stays, also since the page was last read, as long as another goes on counting.
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
async fn a_queue_lives_without_its_registry() {
    let Shown { registry, metrics } = Shown::new();
    drop(registry);
    let queue = WorkQueue::builder("q").metrics(&metrics).build();
    queue.add("a");
    assert_eq!(queue.try_get().as_deref(), Some(&"a"));
}
