//! Metrics of workers.

use std::error::Error;
use std::fmt;
use std::future::pending;
use std::time::Duration;

use kube_workqueue::{CancellationToken, Outcome, WorkQueue, workers};

use crate::TestRegistry;

/// An error whose `Display` fails.
#[derive(Debug)]
struct UnprintableError;

impl fmt::Display for UnprintableError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Err(fmt::Error)
    }
}

impl Error for UnprintableError {}

const LONG: Duration = Duration::from_secs(60 * 60);

async fn first_try(item: &str) -> Result<Outcome, String> {
    match item {
        "later" => Ok(Outcome::RequeueAfter(LONG)),
        "again" => Ok(Outcome::Requeue),
        "never" => Ok(Outcome::GiveUp("it is broken".to_owned())),
        "fails" => Err("no luck".to_owned()),
        "panics" => panic!("on purpose"),
        "hangs" => pending().await,
        _ => Ok(Outcome::Done),
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted_by_result() {
    let shown = TestRegistry::new();
    let queue = WorkQueue::builder("q").metrics(&shown.metrics).build();
    for item in ["fine", "later", "again", "never", "fails", "panics", "hangs"] {
        queue.add(item);
    }
    let stop = CancellationToken::new();
    let end = stop.clone();
    let running = workers(queue.clone(), 1, |task| async move {
        if task.attempt() > 1 {
            return Ok(Outcome::Done);
        }
        first_try(&task).await
    })
    .deadline(Duration::from_secs(60))
    .run(stop);
    let (left, ()) = tokio::join!(running, async move {
        tokio::time::sleep(LONG / 2).await;
        end.cancel();
    });
    assert_eq!(left.delayed, ["later"]);
    let count = |result: &str| {
        let labels = format!("name=\"q\",result=\"{result}\"");
        shown
            .with("attempts_total", &labels)
            .expect("every result is shown")
    };
    // The four retried items succeeded afterwards.
    assert_eq!(count("done"), "5");
    for result in ["requeue_after", "requeue", "give_up", "error", "panic", "timeout"] {
        assert_eq!(count(result), "1", "{result}");
    }
    assert_eq!(shown.q(["work_duration_seconds_count"]), ["11"]);
    assert_eq!(shown.q(["work_duration_seconds_sum"]), ["60.0"]);
    assert_eq!(shown.q(["retries_total"]), ["5"]);
    assert_eq!(shown.q(["running"]), ["0"]);
}

#[tokio::test(start_paused = true)]
async fn an_error_whose_display_fails_counts_as_a_panic() {
    let shown = TestRegistry::new();
    let queue = WorkQueue::builder("q").metrics(&shown.metrics).build();
    queue.add("a");
    let stop = CancellationToken::new();
    let end = stop.clone();
    let left = workers(queue.clone(), 1, move |task| {
        let end = end.clone();
        async move {
            if task.attempt() == 1 {
                return Err(UnprintableError);
            }
            end.cancel();
            Ok(())
        }
    })
    .run(stop)
    .await;
    assert!(left.is_drained());
    let count = |result: &str| shown.with("attempts_total", &format!("name=\"q\",result=\"{result}\""));
    assert_eq!(
        ["panic", "error", "done"].map(count),
        ["1", "0", "1"].map(|count| Some(count.to_owned()))
    );
    assert_eq!(
        shown.q(["retries_total", "work_duration_seconds_count", "running"]),
        ["1", "2", "0"]
    );
}
