//! `cargo xtask bench`: compares this project with client-go and kube-runtime in the same run; by default on
//! a cluster.

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
use crate::ci::StepResult;
use crate::{Outcome, go};

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchOptions {
    #[command(subcommand)]
    command: Option<BenchCommand>,
    #[command(flatten)]
    on_cluster: cluster::ClusterOptions,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// The pipeline without a network: events, reads, pauses, joins, memory
    Pipeline(ScenarioOptions),
    /// The work queue: cycles, delays, limits, memory
    Queue(ScenarioOptions),
}

#[derive(Args, Debug)]
struct ScenarioOptions {
    /// Number of rounds; the medians are compared
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Run a shorter version, to check that it works
    #[arg(long)]
    quick: bool,
    /// Only measure this scenario; may be repeated
    #[arg(long, value_name = "SCENARIO")]
    only: Vec<String>,
    /// Write all measurements to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(root: &Path, options: &BenchOptions) -> Outcome {
    match &options.command {
        None => cluster::run(root, &options.on_cluster),
        Some(BenchCommand::Pipeline(scenario)) => compare(root, &PIPELINE, scenario),
        Some(BenchCommand::Queue(scenario)) => compare(root, &QUEUE, scenario),
    }
}

/// Runs the quick benchmark on a cluster, which fails if a ratio exceeds its bound.
pub(crate) fn step(root: &Path) -> Outcome<StepResult> {
    if !go::is_installed() {
        return Ok(StepResult::NotRun("Go is not installed"));
    }
    cluster::run(root, &cluster::ClusterOptions::quick())?;
    Ok(StepResult::Passed)
}

fn compare(root: &Path, benchmark: &Benchmark, scenario: &ScenarioOptions) -> Outcome {
    let runs = benchmark.runs_of(&scenario.only)?;
    let programs = Programs::build(root)?;
    let peers = benchmark.peers.iter().map(|peer| peer.name()).collect();
    let mut comparison = Comparison::of(benchmark.ours.name(), peers);
    for run in runs {
        // In turns, so that other load on the machine affects all subjects alike.
        for round in 1..=scenario.rounds {
            for subject in benchmark.subjects() {
                eprintln!("{} {}: {subject:?}, round {round}", run.scenario, run.flag);
                for line in programs.run(benchmark, subject, run, scenario.quick)?.lines() {
                    comparison.add(&serde_json::from_str(line)?)?;
                }
            }
        }
    }
    if let Some(file) = &scenario.json {
        fs::write(file, comparison.json()).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    print!("{comparison}");
    Ok(())
}
