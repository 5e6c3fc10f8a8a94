//! What came of the work of workers.

use std::future::pending;
use std::time::Duration;

use kube_workqueue::{CancellationToken, Outcome, WorkQueue, workers};

use crate::Shown;

const LONG: Duration = Duration::from_hours(1);

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
async fn attempts_are_counted_by_what_came_of_them() {
    let shown = Shown::new();
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
    .deadline(Duration::from_mins(1))
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
    // The four that came back went well then.
    assert_eq!(count("done"), "5");
    for result in ["requeue_after", "requeue", "give_up", "error", "panic", "timeout"] {
        assert_eq!(count(result), "1", "{result}");
    }
    assert_eq!(shown.q(["work_duration_seconds_count"]), ["11"]);
    assert_eq!(shown.q(["work_duration_seconds_sum"]), ["60.0"]);
    assert_eq!(shown.q(["retries_total"]), ["5"]);
    assert_eq!(shown.q(["running"]), ["0"]);
}
