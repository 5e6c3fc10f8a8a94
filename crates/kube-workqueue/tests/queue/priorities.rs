//! Priorities.

use std::sync::Arc;

use parking_lot::Mutex;
use std::time::Duration;

use kube_workqueue::{AddOptions, CancellationToken, Exponential, Outcome, Task, WorkQueue, workers};
use tokio::time::advance;

use crate::soon;

const SECOND: Duration = Duration::from_secs(1);
const FIRST_LIST: i32 = -100;

fn with(priority: i32) -> AddOptions {
    AddOptions::new().priority(priority)
}

fn rest(queue: &WorkQueue<&'static str>) -> Vec<&'static str> {
    std::iter::from_fn(|| queue.try_get().map(|item| *item)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_due_item_precedes_older_items_of_lower_priority() {
    let queue = WorkQueue::new("q");
    queue.add_with("low 1", with(FIRST_LIST));
    queue.add_with("low 2", with(FIRST_LIST));
    queue.add_with("high", with(0).after(SECOND));
    drop(queue.try_get().expect("low 1"));
    advance(SECOND).await;
    assert_eq!(rest(&queue), ["high", "low 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_raised_item_goes_behind_others_of_its_new_priority() {
    let queue = WorkQueue::new("q");
    queue.add_with("raised", with(FIRST_LIST));
    queue.add_with("a", with(0));
    queue.add_with("b", with(0));
    queue.add_with("raised", with(0));
    queue.add_with("c", with(0));
    assert_eq!(rest(&queue), ["a", "b", "raised", "c"]);
}

#[tokio::test(start_paused = true)]
async fn of_several_adds_the_highest_priority_and_the_earliest_time_win() {
    let queue = WorkQueue::new("q");
    queue.add_with("a", with(7).after(10 * SECOND));
    queue.add_with("a", with(-7).after(SECOND));
    advance(SECOND).await;
    let item = queue.try_get().expect("a due item");
    assert_eq!(item.priority(), 7);
    // Also while the item is running.
    queue.add_with("a", with(3));
    queue.add_with("a", with(1));
    item.done();
    assert_eq!(queue.try_get().expect("a requeued item").priority(), 3);
}

#[tokio::test(start_paused = true)]
async fn failed_and_requeued_items_keep_their_priority() {
    let queue = WorkQueue::with_limiter("q", Exponential::new(SECOND, SECOND));
    for (item, priority) in [("fails", 5), ("requeued", -5), ("later", 9)] {
        queue.add_with(item, with(priority));
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let stop = CancellationToken::new();
    let work = {
        let (seen, stop, queue) = (Arc::clone(&seen), stop.clone(), queue.clone());
        move |task: Task<&'static str>| {
            let mut seen = seen.lock();
            seen.push((*task, task.priority()));
            let again = seen.len() > 3;
            if queue.is_empty() && again {
                stop.cancel();
            }
            async move {
                match *task {
                    _ if again => Ok(Outcome::Done),
                    "fails" => Err("no"),
                    "requeued" => Ok(Outcome::Requeue),
                    _ => Ok(Outcome::RequeueAfter(SECOND)),
                }
            }
        }
    };
    assert!(soon(workers(queue, 1, work).run(stop)).await.is_drained());
    let round = [("later", 9), ("fails", 5), ("requeued", -5)];
    assert_eq!(*seen.lock(), [round, round].concat());
}

/// With one worker and items that are added again at once, the first list is still processed.
#[tokio::test(start_paused = true)]
async fn items_of_the_first_list_are_processed_under_constant_load() {
    const LISTED: usize = 50;
    let queue = WorkQueue::new("q");
    for item in 0..LISTED {
        queue.add_with(item, with(FIRST_LIST));
    }
    for item in LISTED..LISTED + 3 {
        queue.add(item);
    }
    let mut listed = Vec::new();
    for _ in 0..LISTED * 8 {
        let item = queue.try_get().expect("an item");
        if *item < LISTED {
            listed.push(*item);
        } else {
            queue.add(*item);
        }
    }
    assert_eq!(listed, (0..LISTED).collect::<Vec<_>>());
}
