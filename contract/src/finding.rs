//! Violations of the contract.

use std::fmt;

use parking_lot::Mutex;

/// A violation of one line of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The number of the line.
    pub contract: u8,
    /// The handler or cache that it was observed on.
    pub subject: String,
    /// What was observed.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding {
            contract,
            subject,
            message,
        } = self;
        write!(
            f,
            "contract {contract} ({}): {subject}: {message}",
            name(*contract)
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

/// Collects violations. Checkers share one through an `Arc`.
#[derive(Default)]
pub struct Findings {
    found: Mutex<Vec<Finding>>,
    on_finding: Option<OnFinding>,
}

type OnFinding = Box<dyn Fn(&Finding) + Send + Sync>;

impl Findings {
    /// Returns an empty collection that also calls a function for each finding, for example to log it.
    #[must_use]
    pub fn reported_to(on_finding: impl Fn(&Finding) + Send + Sync + 'static) -> Findings {
        Findings {
            found: Mutex::default(),
            on_finding: Some(Box::new(on_finding)),
        }
    }

    /// Adds a violation.
    pub fn add(&self, contract: u8, subject: &str, message: impl fmt::Display) {
        let finding = Finding {
            contract,
            subject: subject.to_owned(),
            message: message.to_string(),
        };
        if let Some(on_finding) = &self.on_finding {
            on_finding(&finding);
        }
        self.found.lock().push(finding);
    }

    /// Returns the first violation, if there is one.
    pub fn first(&self) -> Option<Finding> {
        self.found.lock().first().cloned()
    }

    /// Returns all violations in the order in which they were found.
    pub fn all(&self) -> Vec<Finding> {
        self.found.lock().clone()
    }

    /// Returns whether there is no violation.
    pub fn is_empty(&self) -> bool {
        self.found.lock().is_empty()
    }

    /// Panics with a list of all violations if there is any.
    pub fn assert_none(&self) {
        let found = self.all();
        let lines: Vec<String> = found.iter().map(Finding::to_string).collect();
        assert!(
            found.is_empty(),
            "{} findings:\n{}",
            found.len(),
            lines.join("\n")
        );
    }
}

impl fmt::Debug for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Findings")
            .field("found", &*self.found.lock())
            .finish_non_exhaustive()
    }
}
