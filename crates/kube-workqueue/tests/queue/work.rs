//! Workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kube_workqueue::{CancellationToken, Exponential, FastSlow, Outcome, Task, WorkQueue, workers};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use crate::soon;

const SECOND: Duration = Duration::from_secs(1);

fn queue() -> WorkQueue<&'static str> {
    WorkQueue::with_limiter("q", Exponential::new(SECOND, 100 * SECOND))
}

#[tokio::test(start_paused = true)]
async fn each_outcome_has_its_effect() {
    let queue = queue();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let began = Instant::now();
    let work = move |task: Task<&'static str>| {
        let sender = sender.clone();
        async move {
            sender
                .send((*task, task.attempt(), began.elapsed().as_secs()))
                .expect("a listener");
            match (*task, task.attempt()) {
                ("error", 1..=3) => Err("no"),
                ("panic", 1) => panic!("oh"),
                ("requeue", 1..=2) => Ok(Outcome::Requeue),
                ("later", _) if began.elapsed().as_secs() < 50 => Ok(Outcome::RequeueAfter(50 * SECOND)),
                ("hopeless", _) => Ok(Outcome::GiveUp("no use".to_owned())),
                _ => Ok(Outcome::Done),
            }
        }
    };
    let stop = CancellationToken::new();
    let running = tokio::spawn(workers(queue.clone(), 2, work).run(stop.clone()));
    for item in ["error", "panic", "requeue", "later", "hopeless", "done"] {
        queue.add(item);
    }
    let mut seen = Vec::new();
    for _ in 0..13 {
        seen.push(soon(receiver.recv()).await.expect("work"));
    }
    let of = |item: &str| -> Vec<(u32, u64)> {
        let its = seen.iter().filter(|(name, ..)| *name == item);
        its.map(|(_, attempt, at)| (*attempt, *at)).collect()
    };
    assert_eq!(of("error"), [(1, 0), (2, 1), (3, 3), (4, 7)]);
    assert_eq!(of("panic"), [(1, 0), (2, 1)]);
    assert_eq!(of("requeue"), [(1, 0), (2, 1), (3, 3)]);
    assert_eq!(of("later"), [(1, 0), (1, 50)]);
    assert_eq!((of("hopeless"), of("done")), (vec![(1, 0)], vec![(1, 0)]));
    stop.cancel();
    assert!(soon(running).await.expect("an end").is_drained());
    assert!(
        ["error", "panic", "requeue", "hopeless"]
            .iter()
            .all(|item| queue.requeues(item) == 0)
    );
}

#[tokio::test(start_paused = true)]
async fn an_attempt_over_its_deadline_is_dropped_and_retried() {
    let queue = queue();
    let tries = Arc::new(AtomicUsize::new(0));
    let stop = CancellationToken::new();
    let work = {
        let (tries, stop) = (Arc::clone(&tries), stop.clone());
        move |_: Task<&'static str>| {
            let (tries, stop) = (Arc::clone(&tries), stop.clone());
            async move {
                if tries.fetch_add(1, Ordering::SeqCst) == 0 {
                    std::future::pending::<()>().await;
                }
                stop.cancel();
            }
        }
    };
    queue.add("a");
    let began = Instant::now();
    let left = soon(workers(queue, 1, work).deadline(5 * SECOND).run(stop)).await;
    assert!(left.is_drained());
    assert_eq!((tries.load(Ordering::SeqCst), began.elapsed()), (2, 6 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn the_longest_durations_do_not_overflow() {
    let queue = WorkQueue::with_limiter("q", FastSlow::new(Duration::MAX, Duration::MAX, 0));
    for item in ["later", "again", "fails", "fine"] {
        queue.add(item);
    }
    let stop = CancellationToken::new();
    let end = stop.clone();
    let work = move |task: Task<&'static str>| {
        let end = end.clone();
        async move {
            match *task {
                "later" => Ok(Outcome::RequeueAfter(Duration::MAX)),
                "again" => Ok(Outcome::Requeue),
                "fails" => Err("no"),
                _ => {
                    tokio::time::sleep(SECOND).await;
                    end.cancel();
                    tokio::time::sleep(SECOND).await;
                    Ok(Outcome::Done)
                }
            }
        }
    };
    let workers = workers(queue.clone(), 2, work)
        .deadline(Duration::MAX)
        .grace(Duration::MAX);
    let left = soon(workers.run(stop)).await;
    assert_eq!(left.delayed, ["later", "again", "fails"]);
    assert!(left.is_drained());
    assert_eq!(queue.stats().done, 2);
}

#[tokio::test(start_paused = true)]
async fn as_many_items_as_workers_are_processed_at_once() {
    let queue = WorkQueue::new("q");
    for item in 0..10 {
        queue.add(item);
    }
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let work = {
        let (gate, begun) = (Arc::clone(&gate), Arc::clone(&begun));
        move |_: Task<i32>| {
            let (gate, begun) = (Arc::clone(&gate), Arc::clone(&begun));
            async move {
                begun.fetch_add(1, Ordering::SeqCst);
                gate.acquire().await.expect("an open gate").forget();
            }
        }
    };
    let stop = CancellationToken::new();
    let running = tokio::spawn(workers(queue.clone(), 3, work).run(stop.clone()));
    tokio::time::sleep(SECOND).await;
    assert_eq!(
        (begun.load(Ordering::SeqCst), queue.running(), queue.len()),
        (3, 3, 7)
    );
    // Queued items are still processed after the stop.
    stop.cancel();
    gate.add_permits(10);
    assert!(soon(running).await.expect("an end").is_drained());
    assert_eq!(begun.load(Ordering::SeqCst), 10);
}

#[tokio::test(start_paused = true)]
async fn stopping_takes_no_longer_than_the_grace_period() {
    let queue = queue();
    queue.add("stuck");
    queue.add("behind");
    queue.add_after("later", SECOND);
    let stop = CancellationToken::new();
    let work = |_: Task<&'static str>| std::future::pending::<()>();
    let running = tokio::spawn(
        workers(queue.clone(), 1, work)
            .grace(3 * SECOND)
            .run(stop.clone()),
    );
    tokio::task::yield_now().await;
    let began = Instant::now();
    stop.cancel();
    let left = soon(running).await.expect("an end");
    assert_eq!(began.elapsed(), 3 * SECOND);
    assert_eq!(
        (left.running, left.queued, left.delayed),
        (vec!["stuck"], vec!["behind"], vec!["later"])
    );
    assert_eq!(queue.running(), 0, "no worker is left");
}

/// After the stop nothing is retried, whatever the delay, and the stop does not wait for retries.
#[tokio::test(start_paused = true)]
async fn items_requeued_after_the_stop_remain_delayed() {
    for wait in [SECOND, Duration::ZERO] {
        let queue = WorkQueue::with_limiter("q", FastSlow::new(wait, wait, 0));
        for item in ["fails", "again", "later", "fine"] {
            queue.add(item);
        }
        let stop = CancellationToken::new();
        let end = stop.clone();
        let work = move |task: Task<&'static str>| {
            let end = end.clone();
            async move {
                end.cancel();
                tokio::time::sleep(SECOND).await;
                match *task {
                    "fails" => Err("no"),
                    "again" => Ok(Outcome::Requeue),
                    "later" => Ok(Outcome::RequeueAfter(wait)),
                    _ => Ok(Outcome::Done),
                }
            }
        };
        let began = Instant::now();
        let left = soon(workers(queue.clone(), 4, work).run(stop)).await;
        assert!(left.is_drained());
        assert_eq!(left.delayed, ["fails", "again", "later"]);
        assert_eq!(began.elapsed(), SECOND);
        let stats = queue.stats();
        assert_eq!((stats.delayed, stats.next_due), (3, None));
        assert_eq!((stats.retries, stats.failed, stats.done), (3, 2, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn an_add_before_the_stop_is_processed_also_if_an_attempt_fails_after_it() {
    let queue = queue();
    queue.add("a");
    let stop = CancellationToken::new();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let work = {
        let (queue, stop) = (queue.clone(), stop.clone());
        move |task: Task<&'static str>| {
            let (queue, stop, sender) = (queue.clone(), stop.clone(), sender.clone());
            async move {
                queue.add(*task);
                stop.cancel();
                tokio::task::yield_now().await;
                sender.send(task.attempt()).expect("a listener");
                Err::<(), _>("no")
            }
        }
    };
    let left = soon(workers(queue, 1, work).run(stop)).await;
    assert!(left.is_drained());
    assert_eq!(left.delayed, ["a"]);
    let attempts: Vec<u32> = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
    assert_eq!(attempts, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_of_the_queue_ends_its_workers() {
    let queue = queue();
    queue.add("a");
    queue.shut_down();
    let worked = Arc::new(AtomicUsize::new(0));
    let work = {
        let worked = Arc::clone(&worked);
        move |_: Task<&'static str>| {
            worked.fetch_add(1, Ordering::SeqCst);
            async {}
        }
    };
    let left = soon(workers(queue, 4, work).run(CancellationToken::new())).await;
    assert!(left.is_drained());
    assert_eq!(worked.load(Ordering::SeqCst), 1);
}

/// A function without an `await` on one thread: the task that cancels the workers must still run.
#[tokio::test]
async fn a_function_that_never_waits_lets_other_tasks_run() {
    const ENDLESS: usize = 100_000;
    let queue = queue();
    queue.add("again");
    let rounds = Arc::new(AtomicUsize::new(0));
    let stop = CancellationToken::new();
    let work = {
        let (queue, rounds) = (queue.clone(), Arc::clone(&rounds));
        move |task: Task<&'static str>| {
            if rounds.fetch_add(1, Ordering::Relaxed) < ENDLESS {
                queue.add(*task);
            }
            std::future::ready(())
        }
    };
    let running = workers(queue, 1, work).run(stop.clone());
    let (left, ()) = tokio::join!(running, async { stop.cancel() });
    assert!(left.is_drained());
    assert!(rounds.load(Ordering::Relaxed) < ENDLESS);
}
