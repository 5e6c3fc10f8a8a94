//! Compares results with the lists.

use std::fmt;

use super::lists::Lists;
use super::report::{Results, SpecState};

/// The results of the specs that should have run.
pub(super) struct Comparison {
    rows: Vec<Row>,
    failure: Option<String>,
}

struct Row {
    name: String,
    seconds: f64,
    verdict: Verdict,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    /// Failed as an exception, for this reason.
    Excepted(String),
    Failed(String),
    /// An exception that passed.
    Stale,
    NotRun,
}

impl Verdict {
    fn is_failure(&self) -> bool {
        !matches!(self, Self::Passed | Self::Excepted(_))
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Excepted(_) => "exception",
            Self::Failed(_) => "FAILED",
            Self::Stale => "STALE",
            Self::NotRun => "NOT RUN",
        }
    }

    fn detail(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Excepted(reason) => Some(reason),
            Self::Failed(message) => Some(message),
            Self::Stale => Some("passes: remove it from tests/e2e/exceptions.txt"),
            Self::NotRun => Some("the run ended before this spec, or the spec does not exist"),
        }
    }
}

impl Comparison {
    pub(super) fn new(specs: &[String], results: &Results, lists: &Lists) -> Self {
        let row = |name: &String| {
            let result = results.get(name);
            let exception = lists.exceptions.get(name);
            let verdict = match (result.map(|result| &result.state), exception) {
                (None, None) => Verdict::NotRun,
                (Some(SpecState::Passed), None) => Verdict::Passed,
                (Some(SpecState::Passed), Some(_)) => Verdict::Stale,
                // A slow exception may keep others from running.
                (None | Some(SpecState::Failed(_)), Some(reason)) => Verdict::Excepted(reason.clone()),
                (Some(SpecState::Failed(message)), None) => Verdict::Failed(message.clone()),
            };
            Row {
                name: name.clone(),
                seconds: result.map_or(0.0, |result| result.took.as_secs_f64()),
                verdict,
            }
        };
        Self {
            rows: specs.iter().map(row).collect(),
            failure: results.failure.clone(),
        }
    }

    /// Returns how many specs contradict the lists.
    pub(super) fn failures(&self) -> usize {
        self.rows.iter().filter(|row| row.verdict.is_failure()).count()
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            let word = row.verdict.word();
            writeln!(out, "{word:9}  {:>6.1} s  {}", row.seconds, row.name)?;
            if let Some(detail) = row.verdict.detail() {
                writeln!(out, "{:21}{detail}", "")?;
            }
        }
        if let Some(failure) = &self.failure {
            writeln!(out, "the run failed: {failure}")?;
        }
        let count = |word: &str| self.rows.iter().filter(|row| row.verdict.word() == word).count();
        writeln!(
            out,
            "{} specs: {} passed, {} exceptions, {} failed",
            self.rows.len(),
            count("passed"),
            count("exception"),
            self.failures()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_may_fail_and_must_not_pass() {
        let lists = Lists {
            exceptions: [("b", "why"), ("d", "why not")]
                .map(|(name, reason)| (name.to_owned(), reason.to_owned()))
                .into(),
            ..Lists::default()
        };
        let failed = |message: &str| SpecState::Failed(message.to_owned());
        let results = Results::of([
            ("a", SpecState::Passed),
            ("b", failed("expected")),
            ("c", failed("unexpected")),
            ("d", SpecState::Passed),
        ]);
        let specs = ["a", "b", "c", "d", "e"].map(str::to_owned);
        let comparison = Comparison::new(&specs, &results, &lists);
        let words: Vec<&str> = comparison.rows.iter().map(|row| row.verdict.word()).collect();
        assert_eq!(words, ["passed", "exception", "FAILED", "STALE", "NOT RUN"]);
        assert_eq!(comparison.failures(), 3);
        let table = comparison.to_string();
        assert!(
            table.starts_with("passed        1.0 s  a\nexception     1.0 s  b\n"),
            "{table}"
        );
        assert!(
            table.ends_with("5 specs: 1 passed, 1 exceptions, 3 failed\n"),
            "{table}"
        );
    }
}
