//! `cargo xtask test`: the tests, against the embedded server or a real one.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::{Outcome, process, real_server};

/// The test targets that know how to run against a real server.
const REAL_SUITES: &[&str] = &["mission", "real_server", "kubectl", "client_go", "chaos"];

#[derive(Args, Debug, Default)]
pub(crate) struct Options {
    /// Run the suites that can against a real kube-apiserver with etcd
    #[arg(long)]
    real: bool,
    /// Arguments for `cargo test`, such as a test's name
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
}

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
    if options.real {
        return against_real_server(root, &options.args);
    }
    against_embedded_server(root, &options.args, real_server::at_hand()?)
}

/// Runs all tests against the embedded server; kubectl, which some of them drive, is taken from `assets`.
pub(crate) fn against_embedded_server(root: &Path, args: &[String], assets: Option<PathBuf>) -> Outcome {
    let mut cargo = process::cargo(root);
    cargo.args(["test", "--workspace"]).args(args);
    if let Some(assets) = assets {
        cargo.env(real_server::ASSETS, assets);
    }
    process::run(&mut cargo)
}

/// Runs the suites against a real server, with the tests that `cargo test` leaves out because they need one.
pub(crate) fn against_real_server(root: &Path, args: &[String]) -> Outcome {
    let assets = real_server::prepare()?;
    let (for_cargo, for_tests) = match args.iter().position(|arg| arg == "--") {
        Some(at) => (&args[..at], &args[at + 1..]),
        None => (args, &[][..]),
    };
    let mut cargo = process::cargo(root);
    cargo.args(["test", "--workspace"]);
    for suite in REAL_SUITES {
        cargo.args(["--test", suite]);
    }
    cargo
        .args(for_cargo)
        .args(["--", "--include-ignored"])
        .args(for_tests);
    cargo
        .env("KUBE_INFORMER_TEST_SERVER", "real")
        .env(real_server::ASSETS, assets);
    process::run(&mut cargo)
}
