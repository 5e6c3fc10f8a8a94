//! `cargo xtask sanitize`: tests with AddressSanitizer, which finds memory that is used wrongly and memory that nobody frees.
//!
//! There is no unsafe code in this workspace, so what it can find is in dependencies, and cycles of what is counted: an
//! informer that holds itself would be a leak.

use std::path::Path;

use clap::Args;

use crate::toolchain::{self, nightly_cargo};
use crate::{Outcome, process};

/// Those whose tests do without processes and servers of other languages.
const PACKAGES: [&str; 3] = ["kube-wire", "kube-workqueue", "kube-informer"];

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The packages to test; the libraries if none is named
    #[arg(value_name = "PACKAGE")]
    packages: Vec<String>,
}

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
    let Some(mut cargo) = nightly_cargo(root) else {
        println!("not run: AddressSanitizer needs a nightly compiler: `rustup toolchain install nightly`");
        return Ok(());
    };
    let named = options.packages.iter().map(String::as_str);
    let packages: Vec<&str> = if options.packages.is_empty() {
        PACKAGES.to_vec()
    } else {
        named.collect()
    };
    // Examples in the documentation are compiled one by one, which takes longer than all the rest.
    cargo.args(["test", "--lib", "--tests", "--target", &toolchain::host(root)?]);
    for package in packages {
        cargo.args(["--package", package]);
    }
    cargo
        .env("CARGO_TARGET_DIR", toolchain::target(root).join("address"))
        .env("RUSTFLAGS", "-Zsanitizer=address");
    process::run(&mut cargo)
}
