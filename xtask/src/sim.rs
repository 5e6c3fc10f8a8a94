//! Runs the simulator in a release build.

use std::path::Path;

use clap::Args;

use crate::{Outcome, process};

/// Arguments of the simulator; see its own help.
#[derive(Debug, Args)]
pub(crate) struct SimOptions {
    /// SimOptions of the simulator: --seeds N, --from S, --replay SEED, --keep-going
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

pub(crate) fn run(root: &Path, options: &SimOptions) -> Outcome {
    let mut command = process::cargo(root);
    command
        .args(["run", "--release", "--quiet", "--package", "sim", "--"])
        .args(&options.options);
    process::run(&mut command)
}
