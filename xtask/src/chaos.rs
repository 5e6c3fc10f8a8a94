//! `cargo xtask chaos`: informers on a real cluster in bad times, for as long as one likes.

use std::path::Path;

use clap::Args;

use crate::{Outcome, process, real_server};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// For how long something goes wrong, at least; every disturbance happens once in any case
    #[arg(long, value_name = "N", default_value_t = 600)]
    seconds: u64,
    /// What decides the order of disturbances and what is written; without it, chance
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
}

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
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
