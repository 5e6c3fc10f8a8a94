//! `cargo xtask bench`: this project beside client-go and kube-runtime, in the same run.

mod comparison;
mod programs;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use self::comparison::Comparison;
use self::programs::{Programs, Subject};
use crate::Outcome;

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The pipeline without a network: events, reads, pauses, late joins, memory
    Pipeline(Pipeline),
}

#[derive(Args, Debug)]
struct Pipeline {
    /// How often everything is measured; the medians are compared
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Less of everything, to see that it works
    #[arg(long)]
    quick: bool,
    /// Measure only this; may be repeated
    #[arg(long, value_name = "SCENARIO")]
    only: Vec<Scenario>,
    /// Write all figures here
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    Events,
    Reads,
    Pauses,
    Joins,
    Memory,
}

/// A scenario, and for events the number of handlers.
const RUNS: [(Scenario, u32); 7] = [
    (Scenario::Events, 1),
    (Scenario::Events, 10),
    (Scenario::Events, 100),
    (Scenario::Reads, 0),
    (Scenario::Pauses, 0),
    (Scenario::Joins, 0),
    (Scenario::Memory, 0),
];

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
    let What::Pipeline(options) = &options.what;
    let programs = Programs::build(root)?;
    let mut comparison = Comparison::default();
    for (scenario, handlers) in RUNS {
        if !options.only.is_empty() && !options.only.contains(&scenario) {
            continue;
        }
        // In turn, so that whatever else the machine does meets all of them alike.
        for round in 1..=options.rounds {
            for subject in Subject::ALL {
                eprintln!("{scenario:?} {handlers}: {subject:?}, round {round}");
                for line in programs.run(subject, scenario, handlers, options.quick)?.lines() {
                    comparison.add(&serde_json::from_str(line)?)?;
                }
            }
        }
    }
    if let Some(file) = &options.json {
        fs::write(file, comparison.json()).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    print!("{comparison}");
    Ok(())
}
