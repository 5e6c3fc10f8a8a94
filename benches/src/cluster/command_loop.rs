//! The commands of the benchmark driver, and the responses of a subject.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

use super::arrivals::Arrivals;
use super::{ClusterSubject, Heap, process};
use crate::Outcome;
use crate::clock::Stopwatch;

/// Idle time after an update. After a sync it is longer: a cache that compresses waits before it starts.
const REST: Duration = Duration::from_secs(1);
const LONG_REST: Duration = Duration::from_secs(3);

/// Executes the driver's commands on a subject.
#[derive(Debug)]
pub(super) struct CommandLoop {
    arrivals: Arrivals,
    heap: Option<Heap>,
}

impl CommandLoop {
    pub(super) fn new(arrivals: Arrivals, heap: Option<Heap>) -> CommandLoop {
        CommandLoop { arrivals, heap }
    }

    /// Executes commands until the input ends.
    pub(super) async fn run(self, mut subject: impl ClusterSubject) -> Outcome {
        let mut lines = BufReader::new(stdin()).lines();
        say(&json!({"step": "started"}));
        while let Some(line) = lines.next_line().await? {
            let words: Vec<&str> = line.split_whitespace().collect();
            let answer = match words[..] {
                ["sync"] => self.sync(&mut subject).await?,
                ["reads"] => reads(&subject),
                ["updates", count] => self.updates("updates", count.parse()?).await,
                ["relist"] => {
                    let lists = subject.lists();
                    let answer = self.updates("relist", 1).await;
                    if subject.lists() == lists {
                        return Err("the subject did not relist".into());
                    }
                    answer
                }
                _ => return Err(format!("unknown command {line:?}").into()),
            };
            say(&answer);
        }
        Ok(())
    }

    async fn sync(&self, subject: &mut impl ClusterSubject) -> Outcome<Value> {
        let allocated = || self.heap.map(|heap| heap());
        let (before, heap_before) = (process::resident()?, allocated());
        let stopwatch = Stopwatch::start();
        subject.sync().await?;
        let took = stopwatch.stop();
        let peak = process::most_resident()?;
        let rest = process::at_rest(LONG_REST).await;
        let settling = stopwatch.stop().processors.saturating_sub(rest);
        let settled = process::resident()?;
        Ok(json!({
            "step": "sync",
            "objects": subject.objects(),
            "wall": took.wall.as_secs_f64(),
            "cpu": took.processors.as_secs_f64(),
            "settled": settling.as_secs_f64(),
            "peak": peak,
            "steady": settled.saturating_sub(before),
            "heap": allocated().zip(heap_before).map(|(now, before)| now - before),
        }))
    }

    /// Waits until a number of pods was updated and the process is idle.
    async fn updates(&self, step: &str, count: usize) -> Value {
        self.arrivals.expect(count);
        let stopwatch = Stopwatch::start();
        say(&json!({"step": "watching"}));
        self.arrivals.all().await;
        let rest = process::at_rest(REST).await;
        let took = stopwatch.stop();
        let delays = self.arrivals.delays();
        let milliseconds = |delay: Duration| delay.as_secs_f64() * 1e3;
        json!({
            "step": step,
            "count": count,
            "cpu": took.processors.saturating_sub(rest).as_secs_f64(),
            "p50": delays.map(|delays| milliseconds(delays.median)),
            "p99": delays.map(|delays| milliseconds(delays.late)),
        })
    }
}

fn reads(subject: &impl ClusterSubject) -> Value {
    let reads = subject.reads();
    let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
    json!({
        "step": "reads",
        "object": reads.map(|reads| microseconds(reads.object)),
        "label": reads.and_then(|reads| reads.label).map(microseconds),
    })
}

fn say(line: &Value) {
    println!("{line}");
}
