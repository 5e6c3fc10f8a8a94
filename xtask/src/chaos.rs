//! `cargo xtask chaos`: informers on a real cluster with faults, for a given time.

use std::path::Path;

use clap::Args;

use crate::{Outcome, process, real_server};

#[derive(Args, Debug)]
pub(crate) struct ChaosOptions {
    /// Minimum duration of the faults, in seconds; every fault is injected at least once
    #[arg(long, value_name = "N", default_value_t = 600)]
    seconds: u64,
    /// Random seed of the faults and writes; random by default
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
}

pub(crate) fn run(root: &Path, options: &ChaosOptions) -> Outcome {
    let assets = real_server::prepare()?;
    let mut cargo = process::cargo(root);
    cargo
        .args(["test", "--package", "conformance", "--test", "chaos"])
        .args(["--", "--include-ignored", "--nocapture"])
        .env("KUBE_INFORMER_CHAOS_SECONDS", options.seconds.to_string())
        .env(real_server::ASSETS, assets);
    if let Some(seed) = options.seed {
        cargo.env("KUBE_INFORMER_CHAOS_SEED", seed.to_string());
    }
    process::run(&mut cargo)
}
