//! State that all parts of a run share: the history of the server, the findings, the log and the counters.

use std::sync::Arc;

use contract_checker::{Findings, HistoryView, Selects, ServerHistory};
use parking_lot::Mutex;
use tokio::time::Instant;

/// Counters of one or more runs, which show that runs do something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Steps of the plan.
    pub steps: u64,
    /// Writes to the server.
    pub writes: u64,
    /// Requests that were affected by a fault.
    pub faults: u64,
    /// Events that handlers received.
    pub events: u64,
    /// Runs of reconcilers.
    pub reconciles: u64,
    /// Checks of a cache.
    pub checks: u64,
    /// Relists by informers.
    pub relists: u64,
    /// Calls that waited for a version, a sync or a comparison.
    pub waits: u64,
    /// Maximum number of requests of one reflector in ten seconds.
    pub busiest: u64,
}

impl Counts {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: Counts) {
        self.steps += other.steps;
        self.writes += other.writes;
        self.faults += other.faults;
        self.events += other.events;
        self.reconciles += other.reconciles;
        self.checks += other.checks;
        self.relists += other.relists;
        self.waits += other.waits;
        self.busiest = self.busiest.max(other.busiest);
    }
}

/// The log of a run, if one is kept.
#[derive(Debug)]
pub(crate) struct Log {
    began: Instant,
    lines: Option<Mutex<Vec<String>>>,
}

impl Log {
    pub(crate) fn line(&self, line: impl FnOnce() -> String) {
        if let Some(lines) = &self.lines {
            let at = self.began.elapsed().as_secs_f64();
            lines.lock().push(format!("{at:>10.3}s  {}", line()));
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines
            .as_ref()
            .map(|lines| lines.lock().clone())
            .unwrap_or_default()
    }
}

/// State that all parts of a run share.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) history: Arc<Mutex<ServerHistory>>,
    pub(crate) findings: Arc<Findings>,
    pub(crate) counts: Mutex<Counts>,
    pub(crate) log: Arc<Log>,
}

impl Context {
    /// Creates a context with or without a log.
    pub(crate) fn new(keeps_log: bool) -> Context {
        let log = Arc::new(Log {
            began: Instant::now(),
            lines: keeps_log.then(Mutex::default),
        });
        let findings = {
            let log = Arc::clone(&log);
            Findings::reported_to(move |finding| log.line(|| format!("VIOLATION of {finding}")))
        };
        Context {
            history: Arc::default(),
            findings: Arc::new(findings),
            counts: Mutex::default(),
            log,
        }
    }

    /// Returns the history of the selected objects.
    pub(crate) fn history_of(&self, selects: Selects) -> HistoryView {
        HistoryView {
            history: Arc::clone(&self.history),
            selects,
        }
    }

    /// Returns whether the contract was violated.
    pub(crate) fn has_failed(&self) -> bool {
        !self.findings.is_empty()
    }
}
