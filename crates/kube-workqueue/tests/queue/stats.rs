//! Statistics of a queue.

use std::time::Duration;

use kube_workqueue::{AddOptions, CancellationToken, Exponential, Outcome, Task, WorkQueue, workers};

use crate::soon;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn stats_count_queued_running_and_delayed_items() {
    let queue = WorkQueue::new("q");
    queue.add("a");
    queue.add("a");
    queue.add("b");
    queue.add_after("c", 5 * SECOND);
    let item = soon(queue.get()).await.expect("an item");
    let stats = queue.stats();
    assert_eq!((stats.queued, stats.running, stats.delayed), (1, 1, 1));
    assert_eq!((stats.adds, stats.retries, stats.is_shut_down), (2, 1, false));
    assert_eq!(stats.next_due, Some(5 * SECOND));
    assert_eq!(stats.oldest, None, "ages are not tracked");

    queue.add("a");
    drop(item);
    tokio::time::advance(5 * SECOND).await;
    let stats = queue.stats();
    assert_eq!((stats.queued, stats.delayed, stats.next_due), (3, 0, None));
    assert_eq!(stats.adds, 4, "the delayed one counts when it is due");
    queue.shut_down();
    assert!(queue.stats().is_shut_down);
}

#[tokio::test(start_paused = true)]
async fn the_oldest_age_is_known_if_ages_are_tracked() {
    let queue = WorkQueue::<&str>::builder("q").track_age().build();
    assert_eq!(queue.stats().oldest, None);
    queue.add("early");
    tokio::time::advance(3 * SECOND).await;
    queue.add_with("important", AddOptions::new().priority(9));
    tokio::time::advance(SECOND).await;
    assert_eq!(queue.stats().oldest, Some(4 * SECOND));
    assert_eq!(*soon(queue.get()).await.expect("an item"), "important");
    assert_eq!(queue.stats().oldest, Some(4 * SECOND));
    assert_eq!(*soon(queue.get()).await.expect("an item"), "early");
    assert_eq!(queue.stats().oldest, None);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted_by_result() {
    let queue = WorkQueue::with_limiter("q", Exponential::new(SECOND, 100 * SECOND));
    for item in ["good", "bad", "hopeless"] {
        queue.add(item);
    }
    let stop = CancellationToken::new();
    let work = |task: Task<&'static str>| async move {
        match *task {
            "bad" if task.attempt() < 3 => Err("not yet"),
            "hopeless" => Ok(Outcome::GiveUp("no use".to_owned())),
            _ => Ok(Outcome::Done),
        }
    };
    let running = tokio::spawn(workers(queue.clone(), 1, work).run(stop.clone()));
    tokio::time::sleep(60 * SECOND).await;
    let stats = queue.stats();
    assert_eq!((stats.done, stats.failed, stats.given_up), (2, 2, 1));
    assert_eq!(stats.retries, 2);
    stop.cancel();
    assert!(soon(running).await.expect("an end").is_drained());
}
