//! `cargo xtask soak`: informers for an hour, under steady changes and faults; fails if anything has grown, or if a cache is not
//! what the server has.

use std::path::Path;

use clap::Args;

use crate::ci::Verdict;
use crate::{Outcome, process};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// How long it takes
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// How many objects there are
    #[arg(long, default_value_t = 2_000)]
    objects: usize,
    /// How many changes there are each second
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// What chance is made of
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep something of every event, to see that it is noticed
    #[arg(long)]
    leak: bool,
}

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
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

/// The short form: less than a minute, and a leak of a hundred bytes with each change is seen all the same.
pub(crate) fn short(root: &Path) -> Outcome<Verdict> {
    if !cfg!(target_os = "linux") {
        return Ok(Verdict::NotRun("what a process takes is read from Linux"));
    }
    let mut soak = process::cargo(root);
    soak.args(["run", "--quiet", "--package", "bench", "--bin", "soak", "--"]);
    soak.args(["--seconds", "45", "--objects", "300", "--rate", "100"]);
    process::run(&mut soak)?;
    Ok(Verdict::Passed)
}
