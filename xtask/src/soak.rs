//! `cargo xtask soak`: runs informers for an hour with steady changes and faults. Fails if memory or tasks
//! grow, or if a cache differs from the server.

use std::path::Path;

use clap::Args;

use crate::ci::StepResult;
use crate::{Outcome, process};

#[derive(Args, Debug)]
pub(crate) struct SoakOptions {
    /// Duration, in minutes
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// Number of objects
    #[arg(long, default_value_t = 2_000)]
    objects: usize,
    /// Changes per second
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// Random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Leak memory with every event, to check that this is detected
    #[arg(long)]
    leak: bool,
}

pub(crate) fn run(root: &Path, options: &SoakOptions) -> Outcome {
    let mut soak = process::cargo(root);
    soak.args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "bench",
        "--bin",
        "soak",
        "--",
    ]);
    for (name, value) in [
        ("--seconds", options.minutes * 60),
        ("--objects", options.objects as u64),
        ("--rate", options.rate.into()),
        ("--seed", options.seed),
    ] {
        soak.args([name, &value.to_string()]);
    }
    if options.leak {
        soak.arg("--leak");
    }
    process::run(&mut soak)
}

/// Runs a short version of less than a minute, which still detects a leak of a hundred bytes per change.
pub(crate) fn short(root: &Path) -> Outcome<StepResult> {
    if !cfg!(target_os = "linux") {
        return Ok(StepResult::NotRun("measuring memory requires Linux"));
    }
    let mut soak = process::cargo(root);
    soak.args(["run", "--quiet", "--package", "bench", "--bin", "soak", "--"]);
    soak.args(["--seconds", "45", "--objects", "300", "--rate", "100"]);
    process::run(&mut soak)?;
    Ok(StepResult::Passed)
}
