//! `cargo xtask test`: runs the tests against the embedded server or a real one.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::{Outcome, go, process, real_server};

/// A test target of the package `conformance`.
pub(crate) struct TestSuite {
    pub(crate) name: &'static str,
    pub(crate) embedded: bool,
    pub(crate) real: bool,
    /// A program that its tests need in addition to a server. They are marked as ignored, so that `cargo
    /// test` reports them as skipped.
    pub(crate) needs: Option<RequiredProgram>,
}

/// A program that is not part of this project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequiredProgram {
    Chromium,
    Go,
    Kubectl,
}

impl RequiredProgram {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chromium => "Chromium",
            Self::Go => "Go",
            Self::Kubectl => "kubectl",
        }
    }
}

pub(crate) const SUITES: &[TestSuite] = &[
    suite("conformance", true, true, None),
    suite("embedded", true, false, None),
    suite("examples", true, true, None),
    suite("kubectl", true, true, Some(RequiredProgram::Kubectl)),
    suite("client_go", true, true, Some(RequiredProgram::Go)),
    suite("dashboard", true, false, Some(RequiredProgram::Chromium)),
    suite("real_server", false, true, Some(RequiredProgram::Kubectl)),
    suite("chaos", false, true, Some(RequiredProgram::Go)),
];

const fn suite(name: &'static str, embedded: bool, real: bool, needs: Option<RequiredProgram>) -> TestSuite {
    TestSuite {
        name,
        embedded,
        real,
        needs,
    }
}

#[derive(Args, Debug, Default)]
pub(crate) struct TestOptions {
    /// Run the suites that support it against a real kube-apiserver with etcd
    #[arg(long)]
    real: bool,
    /// Arguments for `cargo test`, for example the name of a test
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
}

pub(crate) fn run(root: &Path, options: &TestOptions) -> Outcome {
    if options.real {
        return against_real_server(root, &options.args);
    }
    let assets = real_server::at_hand()?;
    if options.args.is_empty() {
        for missing in against_embedded_server(root, assets)? {
            eprintln!("not run: the tests that need {}", missing.name());
        }
        return Ok(());
    }
    let mut cargo = process::cargo(root);
    cargo.args(["test", "--workspace"]).args(&options.args);
    if let Some(assets) = assets {
        cargo.env(real_server::ASSETS, assets);
    }
    process::run(&mut cargo)
}

/// Runs all tests against the embedded server, with a kubectl from `assets`. Returns the programs that are
/// not installed and whose tests did not run. Tests in a browser are a separate step.
pub(crate) fn against_embedded_server(root: &Path, assets: Option<PathBuf>) -> Outcome<Vec<RequiredProgram>> {
    process::run(process::cargo(root).args(["test", "--workspace", "--no-fail-fast"]))?;
    let mut missing = Vec::new();
    match assets {
        Some(assets) => ignored_tests(root, "conformance", "kubectl", &assets)?,
        None => missing.push(RequiredProgram::Kubectl),
    }
    if go::is_installed() {
        ignored_tests(root, "conformance", "client_go", Path::new(""))?;
        ignored_tests(root, "kube-wire", "published", Path::new(""))?;
    } else {
        missing.push(RequiredProgram::Go);
    }
    Ok(missing)
}

/// Runs the tests of a target that `cargo test` skips.
fn ignored_tests(root: &Path, package: &str, target: &str, assets: &Path) -> Outcome {
    let mut cargo = process::cargo(root);
    cargo
        .args(["test", "--package", package, "--test", target])
        .args(["--", "--ignored"])
        .env(real_server::ASSETS, assets);
    process::run(&mut cargo)
}

/// Runs the suites against a real server, including the tests that `cargo test` skips.
pub(crate) fn against_real_server(root: &Path, args: &[String]) -> Outcome {
    let assets = real_server::prepare()?;
    let (for_cargo, for_tests) = match args.iter().position(|arg| arg == "--") {
        Some(at) => (&args[..at], &args[at + 1..]),
        None => (args, &[][..]),
    };
    // The suite `examples` runs them, but tests of other targets do not build them.
    process::run(process::cargo(root).args(["build", "--workspace", "--bins", "--examples"]))?;
    let mut cargo = process::cargo(root);
    cargo.args(["test", "--workspace"]);
    for suite in SUITES.iter().filter(|suite| suite.real) {
        cargo.args(["--test", suite.name]);
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
