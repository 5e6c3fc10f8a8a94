//! `cargo xtask sanitize`: tests with AddressSanitizer, which finds memory that is used wrongly and memory that nobody frees.
//!
//! There is no unsafe code in this workspace, so what it can find is in dependencies, and cycles of what is counted: an
//! informer that holds itself would be a leak.

use std::path::Path;

use clap::Args;

use crate::toolchain::{self, nightly_cargo};
use crate::{Outcome, process};

/// The libraries, and those of their tests that are neither models of threads, which take hours so, nor of other programs.
const TESTS: [(&str, &[&str]); 3] = [
    ("kube-wire", &["--lib", "--test", "published"]),
    ("kube-workqueue", &["--lib", "--test", "queue"]),
    ("kube-informer", &["--lib", "--test", "pipeline"]),
];

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The libraries to test; all of them if none is named
    #[arg(value_name = "PACKAGE", value_parser = ["kube-wire", "kube-workqueue", "kube-informer"])]
    packages: Vec<String>,
}

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
    let host = toolchain::host(root)?;
    let named = |package: &str| options.packages.is_empty() || options.packages.iter().any(|p| p == package);
    for (package, tests) in TESTS.iter().filter(|(package, _)| named(package)) {
        let Some(mut cargo) = nightly_cargo(root) else {
            println!(
                "not run: AddressSanitizer needs a nightly compiler: `rustup toolchain install nightly`"
            );
            return Ok(());
        };
        cargo
            .args(["test", "--target", &host, "--package", package])
            .args(*tests)
            .env("CARGO_TARGET_DIR", toolchain::target(root).join("address"))
            .env("RUSTFLAGS", "-Zsanitizer=address");
        process::run(&mut cargo)?;
    }
    Ok(())
}
