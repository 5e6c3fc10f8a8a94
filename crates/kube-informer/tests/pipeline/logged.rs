//! Tests of log output.

use std::fmt::Write;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, NoSubscriber};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// Makes a subscriber the default of this thread.
///
/// While a process has only one subscriber, tracing only asks the first thread that reaches a log statement
/// whether it is enabled. A thread without the subscriber would disable it for all threads, so there is
/// always a second subscriber.
pub(crate) fn subscribe(subscriber: impl Subscriber + Send + Sync) -> DefaultGuard {
    static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));
    LazyLock::force(&SECOND);
    tracing::subscriber::set_default(subscriber)
}

/// Every event of this thread up to a level, as text; warnings and errors by default.
#[derive(Clone)]
pub(crate) struct Log {
    level: Level,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Default for Log {
    fn default() -> Log {
        Log::of(Level::WARN)
    }
}

impl Log {
    pub(crate) fn of(level: Level) -> Log {
        Log {
            level,
            lines: Arc::default(),
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().clone()
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.lines.lock().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Every span up to a level, as text, in the order in which they began.
#[derive(Clone)]
pub(crate) struct Spans {
    level: Level,
    begun: Arc<Mutex<Vec<String>>>,
    entered: Arc<Mutex<Vec<u64>>>,
}

impl Spans {
    pub(crate) fn of(level: Level) -> Spans {
        Spans {
            level,
            begun: Arc::default(),
            entered: Arc::default(),
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.begun.lock().clone()
    }

    /// Returns the current innermost span.
    pub(crate) fn current(&self) -> String {
        let entered = self.entered.lock();
        let innermost = *entered.last().expect("a span is entered");
        self.begun.lock()[usize::try_from(innermost).expect("a place in a list") - 1].clone()
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && *metadata.level() <= self.level
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line(span.metadata().name().to_owned());
        span.record(&mut line);
        let mut begun = self.begun.lock();
        begun.push(line.0);
        Id::from_u64(begun.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, span: &Id) {
        self.entered.lock().push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        let mut entered = self.entered.lock();
        if let Some(place) = entered.iter().rposition(|id| *id == span.into_u64()) {
            entered.remove(place);
        }
    }
}
