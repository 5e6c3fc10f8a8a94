//! Panics of user code outside of the worker's function: no worker and no item is lost.

use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube_workqueue::{
    CancellationToken, Exponential, Outcome, QueueItem, RateLimiter, Remaining, Task, WorkQueue, workers,
};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::soon;
use crate::spans::Log;

const SECOND: Duration = Duration::from_secs(1);

/// An error whose `Display` fails.
#[derive(Debug)]
struct UnprintableError;

impl fmt::Display for UnprintableError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Err(fmt::Error)
    }
}

impl Error for UnprintableError {}

/// Panics when it is dropped, except during a panic.
struct PanicOnDrop;

impl Drop for PanicOnDrop {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped too early");
    }
}

fn queue() -> WorkQueue<&'static str> {
    WorkQueue::with_limiter("q", Exponential::new(SECOND, 100 * SECOND))
}

/// Runs workers for a minute, and adds the item `other` after half of it. Returns the attempts, each with its time in seconds,
/// and the remaining items.
async fn a_minute_of<T, F, R>(queue: WorkQueue<T>, other: T, work: F) -> (Vec<(T, u32, u64)>, Remaining<T>)
where
    T: QueueItem + fmt::Debug,
    F: Fn(T, u32) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Outcome, UnprintableError>> + Send + 'static,
{
    let began = Instant::now();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let work = {
        let seen = Arc::clone(&seen);
        move |task: Task<T>| {
            let attempt = task.attempt();
            seen.lock()
                .push((T::clone(&task), attempt, began.elapsed().as_secs()));
            work(task.into_item(), attempt)
        }
    };
    let stop = CancellationToken::new();
    let end = stop.clone();
    let running = workers(queue.clone(), 1, work).deadline(5 * SECOND).run(stop);
    let (left, ()) = soon(async {
        tokio::join!(running, async {
            sleep(30 * SECOND).await;
            assert!(!queue.is_shut_down());
            queue.add(other);
            sleep(30 * SECOND).await;
            end.cancel();
        })
    })
    .await;
    let seen = std::mem::take(&mut *seen.lock());
    (seen, left)
}

#[tokio::test(start_paused = true)]
async fn an_error_whose_display_fails_is_a_failure() {
    let queue = queue();
    queue.add("a");
    let (seen, left) = a_minute_of(queue.clone(), "b", async |_, attempt| match attempt {
        1 => Err(UnprintableError),
        _ => Ok(Outcome::Done),
    })
    .await;
    assert_eq!(seen, [("a", 1, 0), ("a", 2, 1), ("b", 1, 30), ("b", 2, 31)]);
    assert!(left.is_drained() && left.delayed.is_empty());
    assert_eq!((queue.stats().failed, queue.stats().done), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_drop_at_the_deadline_is_retried() {
    let queue = queue();
    queue.add("a");
    let (seen, left) = a_minute_of(queue, "b", async |_, attempt| {
        if attempt == 1 {
            let _bomb = PanicOnDrop;
            std::future::pending::<()>().await;
        }
        Ok(Outcome::Done)
    })
    .await;
    assert_eq!(seen, [("a", 1, 0), ("a", 2, 6), ("b", 1, 30), ("b", 2, 36)]);
    assert!(left.is_drained() && left.delayed.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_panic_payload_can_have_any_type() {
    let queue = queue();
    queue.add("a");
    let (seen, _) = a_minute_of(queue, "b", async |_, attempt| match attempt {
        1 => panic_any(PanicOnDrop),
        _ => Ok(Outcome::Done),
    })
    .await;
    assert_eq!(seen, [("a", 1, 0), ("a", 2, 1), ("b", 1, 30), ("b", 2, 31)]);
}

/// A limiter that always panics.
struct PanickingLimiter;

impl RateLimiter<&'static str> for PanickingLimiter {
    fn when(&mut self, _: &&'static str) -> Duration {
        panic!("when?")
    }

    fn forget(&mut self, _: &&'static str) {
        panic!("forget?")
    }

    fn requeues(&self, _: &&'static str) -> u32 {
        panic!("requeues?")
    }
}

#[tokio::test(start_paused = true)]
async fn items_are_processed_even_if_the_limiter_panics() {
    let log = Log::default();
    let _listening = tracing::subscriber::set_default(log.clone());
    let queue = WorkQueue::with_limiter("q", PanickingLimiter);
    for item in ["fails", "later", "done"] {
        queue.add(item);
    }
    let began = Instant::now();
    let (mut seen, left) = a_minute_of(queue.clone(), "other", move |item, _| async move {
        match item {
            "fails" if began.elapsed() < 15 * SECOND => Err(UnprintableError),
            "later" if began.elapsed() < SECOND => Ok(Outcome::RequeueAfter(40 * SECOND)),
            _ => Ok(Outcome::Done),
        }
    })
    .await;
    seen.sort_unstable();
    assert_eq!(
        seen,
        [
            ("done", 1, 0),
            ("fails", 1, 0),
            ("fails", 1, 10),
            ("fails", 1, 20),
            ("later", 1, 0),
            ("later", 1, 40),
            ("other", 1, 30)
        ]
    );
    assert!(left.is_drained() && left.delayed.is_empty());
    let stats = queue.stats();
    assert_eq!((stats.failed, stats.done, stats.retries), (2, 5, 3));
    let said = |line: &&String| **line == "ERROR the rate limiter panicked queue=\"q\" panic=\"when?\"";
    assert_eq!(log.lines().iter().filter(said).count(), 2, "{:?}", log.lines());
}

/// A key whose `Clone` and `Debug` can panic.
#[derive(Clone)]
struct Key {
    name: &'static str,
    has_no_name: bool,
    _trap: PanicOnClone,
}

/// Panics on the next clone if it is set, and resets itself.
struct PanicOnClone(Arc<AtomicBool>);

fn key(name: &'static str) -> Key {
    Key {
        name,
        has_no_name: false,
        _trap: PanicOnClone(Arc::default()),
    }
}

impl Clone for PanicOnClone {
    fn clone(&self) -> PanicOnClone {
        assert!(!self.0.swap(false, Ordering::SeqCst), "no clone");
        PanicOnClone(Arc::clone(&self.0))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.name == other.name
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert!(!self.has_no_name, "no name");
        f.write_str(self.name)
    }
}

fn named(seen: &[(Key, u32, u64)]) -> Vec<(&'static str, u32, u64)> {
    seen.iter()
        .map(|(key, attempt, at)| (key.name, *attempt, *at))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_key_whose_debug_panics_is_processed_without_a_span() {
    let log = Log::default();
    let _listening = tracing::subscriber::set_default(log.clone());
    let queue = WorkQueue::new("q");
    queue.add(Key {
        has_no_name: true,
        ..key("a")
    });
    let (seen, left) = a_minute_of(queue, key("b"), async |_, _| Ok(Outcome::Done)).await;
    assert_eq!(named(&seen), [("a", 1, 0), ("b", 1, 30)]);
    assert!(left.is_drained());
    assert_eq!(
        log.lines(),
        [
            "ERROR creating the span of an item panicked queue=\"q\" panic=\"no name\"",
            "DEBUG processed the item elapsed=0ns outcome=Done",
            "DEBUG processed the item elapsed=0ns outcome=Done in reconcile queue=\"q\" key=b attempt=1 priority=0",
        ]
    );
}

/// A key that panics when it is taken from the queue ends its worker, which is replaced after a delay.
#[tokio::test(start_paused = true)]
async fn a_worker_that_panics_is_replaced_also_while_stopping() {
    for stops_at_once in [false, true] {
        let log = Log::default();
        let _listening = tracing::subscriber::set_default(log.clone());
        let queue = WorkQueue::new("q");
        for name in ["x", "y", "z"] {
            let trap = PanicOnClone(Arc::new(AtomicBool::new(true)));
            queue.add(Key {
                _trap: trap,
                ..key(name)
            });
        }
        queue.add(key("a"));
        let began = Instant::now();
        let seen = Arc::new(Mutex::new(None));
        let work = {
            let seen = Arc::clone(&seen);
            move |task: Task<Key>| {
                *seen.lock() = Some((task.name, began.elapsed()));
                async {}
            }
        };
        let stop = CancellationToken::new();
        let end = stop.clone();
        let running = workers(queue.clone(), 1, work).grace(20 * SECOND).run(stop);
        let (left, ()) = soon(async {
            tokio::join!(running, async {
                if !stops_at_once {
                    sleep(10 * SECOND).await;
                    assert!(!queue.is_shut_down());
                }
                end.cancel();
            })
        })
        .await;
        assert_eq!(*seen.lock(), Some(("a", 3 * SECOND)));
        assert_eq!(left.running.iter().map(|key| key.name).collect::<String>(), "xyz");
        let said = "ERROR a worker panicked and is replaced queue=\"q\" panic=\"no clone\"";
        assert_eq!(log.lines().iter().filter(|line| *line == said).count(), 3);
    }
}

/// A subscriber that panics at every event.
struct PanickingSubscriber;

impl Subscriber for PanickingSubscriber {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        panic!("no paper")
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test(start_paused = true)]
async fn a_panicking_subscriber_does_not_repeat_finished_work() {
    let queue = queue();
    queue.add("a");
    let _listening = tracing::subscriber::set_default(PanickingSubscriber);
    let (seen, left) = a_minute_of(queue, "b", async |_, _| Ok(Outcome::Done)).await;
    assert_eq!(seen, [("a", 1, 0), ("b", 1, 30)]);
    assert!(left.is_drained());
}

/// Without timers nothing can be delayed, and each new worker would panic again.
#[test]
#[should_panic(expected = "timers are disabled")]
fn a_runtime_without_timers_is_a_panic_and_not_an_endless_loop() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let queue = queue();
    queue.add("a");
    let work = |_: Task<&'static str>| async { Outcome::Requeue };
    let running = workers(queue, 1, work).run(CancellationToken::new());
    runtime.expect("a runtime").block_on(running);
}
