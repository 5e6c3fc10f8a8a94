//! What happened, for people, and what went wrong.

use std::fmt;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::truth::Truth;

/// A line of the contract that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The number of the line.
    pub contract: u8,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "contract {} ({}): {}",
            self.contract,
            name(self.contract),
            self.what
        )
    }
}

fn name(contract: u8) -> &'static str {
    match contract {
        1 => "prefix",
        2 => "forward only",
        3 => "history",
        4 => "store first",
        5 => "nothing lost",
        6 => "isolation",
        7 => "late join",
        8 => "honest sync",
        9 => "polite",
        10 => "small",
        11 => "clean stop",
        _ => "no panics",
    }
}

/// How much happened, to show that a run was not a run of nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Steps of the plan.
    pub steps: u64,
    /// Writes to the server.
    pub writes: u64,
    /// Requests that met a fault, or a server that was away.
    pub faults: u64,
    /// Events that handlers were told.
    pub events: u64,
    /// Rounds of workers.
    pub reconciles: u64,
    /// Looks at a store by the observer.
    pub looks: u64,
    /// The most requests of one reflector in ten seconds, on an average of those of a run.
    pub busiest: u64,
}

impl Counts {
    /// Takes in another run's.
    pub fn add(&mut self, other: Counts) {
        self.steps += other.steps;
        self.writes += other.writes;
        self.faults += other.faults;
        self.events += other.events;
        self.reconciles += other.reconciles;
        self.looks += other.looks;
        self.busiest = self.busiest.max(other.busiest);
    }
}

/// What everyone in a run shares: the truth, the story, and the first thing that went wrong.
pub(crate) struct Ground {
    /// What really happened.
    pub(crate) truth: Mutex<Truth>,
    /// How much.
    pub(crate) counts: Mutex<Counts>,
    began: Instant,
    lines: Option<Mutex<Vec<String>>>,
    violation: Mutex<Option<Violation>>,
}

impl Ground {
    /// With or without a story that is written down.
    pub(crate) fn new(tells: bool) -> Ground {
        Ground {
            truth: Mutex::default(),
            counts: Mutex::default(),
            began: Instant::now(),
            lines: tells.then(Mutex::default),
            violation: Mutex::default(),
        }
    }

    /// Writes a line of the story.
    pub(crate) fn tell(&self, line: impl FnOnce() -> String) {
        if let Some(lines) = &self.lines {
            let at = self.began.elapsed();
            lines
                .lock()
                .push(format!("{:>10.3}s  {}", at.as_secs_f64(), line()));
        }
    }

    /// Something went wrong. The first counts.
    pub(crate) fn violated(&self, contract: u8, what: impl Into<String>) {
        let mut violation = self.violation.lock();
        if violation.is_none() {
            let found = Violation {
                contract,
                what: what.into(),
            };
            self.tell(|| format!("VIOLATION of {found}"));
            *violation = Some(found);
        }
    }

    /// What went wrong, if anything did.
    pub(crate) fn violation(&self) -> Option<Violation> {
        self.violation.lock().clone()
    }

    /// The story so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines
            .as_ref()
            .map(|lines| lines.lock().clone())
            .unwrap_or_default()
    }
}

impl fmt::Debug for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ground").finish_non_exhaustive()
    }
}
