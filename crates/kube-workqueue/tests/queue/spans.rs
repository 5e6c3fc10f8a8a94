//! Log events of workers, recorded by a subscriber.

use std::error::Error;
use std::fmt::{self, Debug, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kube_workqueue::{AddOptions, CancellationToken, Exponential, Outcome, Task, WorkQueue, workers};
use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

const SECOND: Duration = Duration::from_secs(1);

/// All log events, each with its spans.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<RecordedEvents>);

#[derive(Default)]
struct RecordedEvents {
    lines: Mutex<Vec<String>>,
    spans: Mutex<Vec<String>>,
    entered: Mutex<Vec<u64>>,
    next: AtomicU64,
}

struct Fields(String);

impl Log {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lines.lock().clone()
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let written = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
        written.expect("writing to a string cannot fail");
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() || metadata.is_event()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields(span.metadata().name().to_owned());
        span.record(&mut fields);
        self.0.spans.lock().push(fields.0);
        Id::from_u64(self.0.next.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(event.metadata().level().to_string());
        event.record(&mut fields);
        let spans = self.0.spans.lock();
        for id in &*self.0.entered.lock() {
            let at = usize::try_from(id - 1).expect("few spans");
            write!(fields.0, " in {}", spans[at]).expect("writing to a string cannot fail");
        }
        self.0.lines.lock().push(fields.0);
    }

    fn enter(&self, span: &Id) {
        self.0.entered.lock().push(span.into_u64());
    }

    fn exit(&self, _: &Id) {
        self.0.entered.lock().pop();
    }
}

#[derive(Debug)]
struct TestError(std::num::ParseIntError);

impl fmt::Display for TestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is broken")
    }
}

impl Error for TestError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

async fn reconcile(task: Task<&'static str>) -> Result<Outcome, TestError> {
    tracing::info!("begins");
    tokio::time::sleep(SECOND).await;
    tracing::info!("goes on");
    match (*task, task.attempt()) {
        ("broken", 1) => "one".parse::<u8>().map(|_| Outcome::Done).map_err(TestError),
        ("hopeless", _) => Ok(Outcome::GiveUp("no use".to_owned())),
        _ => Ok(Outcome::Done),
    }
}

/// Returns the log events of one item until it is done.
async fn log_of(item: &'static str, priority: i32) -> Vec<String> {
    let log = Log::default();
    let _listening = tracing::subscriber::set_default(log.clone());
    let queue = WorkQueue::with_limiter("q", Exponential::new(SECOND, SECOND));
    queue.add_with(item, AddOptions::new().priority(priority));
    let stop = CancellationToken::new();
    let end = stop.clone();
    let (left, ()) = tokio::join!(workers(queue, 1, reconcile).run(stop), async move {
        tokio::time::sleep(10 * SECOND).await;
        end.cancel();
    });
    assert!(left.is_drained());
    log.lines()
}

#[tokio::test(start_paused = true)]
async fn log_events_of_the_function_are_in_the_span_of_its_item() {
    let span = "in reconcile queue=\"q\" key=\"fine\" attempt=1 priority=7";
    assert_eq!(
        log_of("fine", 7).await,
        [
            format!("INFO begins {span}"),
            format!("INFO goes on {span}"),
            format!("DEBUG processed the item elapsed=1s outcome=Done {span}"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_logged_with_its_sources_and_the_next_attempt_has_its_own_span() {
    let lines = log_of("broken", 0).await;
    let span = |attempt: u32| format!("in reconcile queue=\"q\" key=\"broken\" attempt={attempt} priority=0");
    let why = "it is broken: invalid digit found in string";
    assert_eq!(
        lines[2],
        format!(
            "WARN failed to process the item elapsed=1s error={why} {}",
            span(1)
        )
    );
    assert_eq!(lines[3], format!("INFO begins {}", span(2)));
    assert_eq!(lines.len(), 6);
}

#[tokio::test(start_paused = true)]
async fn giving_up_is_logged_as_an_error() {
    let lines = log_of("hopeless", 0).await;
    assert!(
        lines[2].starts_with("ERROR gave up on the item elapsed=1s reason=\"no use\" in reconcile"),
        "{lines:?}"
    );
}
