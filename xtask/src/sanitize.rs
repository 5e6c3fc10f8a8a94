//! `cargo xtask sanitize`: runs tests with AddressSanitizer, which finds invalid memory accesses and leaks.
//!
//! This workspace has no unsafe code, so it can find errors in dependencies, and leaks by reference cycles,
//! for example an informer that references itself.

use std::path::Path;

use clap::Args;

use crate::toolchain::{self, nightly_cargo};
use crate::{Outcome, process};

/// The libraries and their tests, without models of threads, which would take hours, and without tests of
/// other programs.
const TESTS: [(&str, &[&str]); 3] = [
    ("kube-wire", &["--lib", "--test", "published"]),
    ("kube-workqueue", &["--lib", "--test", "queue"]),
    ("kube-informer", &["--lib", "--test", "pipeline"]),
];

#[derive(Args, Debug)]
pub(crate) struct SanitizeOptions {
    /// Libraries to test; all by default
    #[arg(value_name = "PACKAGE", value_parser = ["kube-wire", "kube-workqueue", "kube-informer"])]
    packages: Vec<String>,
}

pub(crate) fn run(root: &Path, options: &SanitizeOptions) -> Outcome {
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
