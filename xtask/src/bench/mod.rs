//! `cargo xtask bench`: this project beside client-go and kube-runtime, in the same run; on a cluster if nothing else is said.

mod benchmarks;
mod cluster;
mod comparison;
mod programs;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use self::benchmarks::{Benchmark, PIPELINE, QUEUE};
use self::comparison::Comparison;
use self::programs::Programs;
use crate::ci::Verdict;
use crate::{Outcome, go};

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    on_cluster: cluster::Choice,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The pipeline without a network: events, reads, pauses, joins, memory
    Pipeline(Choice),
    /// The work queue: cycles, delays, limits, memory
    Queue(Choice),
}

#[derive(Args, Debug)]
struct Choice {
    /// How often everything is measured; the medians are compared
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Less of everything, to see that it works
    #[arg(long)]
    quick: bool,
    /// Measure only this; may be repeated
    #[arg(long, value_name = "SCENARIO")]
    only: Vec<String>,
    /// Write all figures here
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
    match &options.what {
        None => cluster::run(root, &options.on_cluster),
        Some(What::Pipeline(choice)) => compare(root, &PIPELINE, choice),
        Some(What::Queue(choice)) => compare(root, &QUEUE, choice),
    }
}

/// The quick form on a cluster, which fails if a ratio is worse than its bound.
pub(crate) fn step(root: &Path) -> Outcome<Verdict> {
    if !go::is_there() {
        return Ok(Verdict::NotRun("Go is not installed"));
    }
    cluster::run(root, &cluster::Choice::quick())?;
    Ok(Verdict::Passed)
}

fn compare(root: &Path, benchmark: &Benchmark, choice: &Choice) -> Outcome {
    let runs = benchmark.runs_of(&choice.only)?;
    let programs = Programs::build(root)?;
    let peers = benchmark.peers.iter().map(|peer| peer.name()).collect();
    let mut comparison = Comparison::of(benchmark.ours.name(), peers);
    for run in runs {
        // In turn, so that whatever else the machine does meets all of them alike.
        for round in 1..=choice.rounds {
            for subject in benchmark.subjects() {
                eprintln!("{} {}: {subject:?}, round {round}", run.scenario, run.flag);
                for line in programs.run(benchmark, subject, run, choice.quick)?.lines() {
                    comparison.add(&serde_json::from_str(line)?)?;
                }
            }
        }
    }
    if let Some(file) = &choice.json {
        fs::write(file, comparison.json()).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    print!("{comparison}");
    Ok(())
}
