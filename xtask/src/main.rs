//! Development chores, run as `cargo xtask <chore>`.

mod api;
mod bench;
mod book;
mod browser;
mod cache;
mod chaos;
mod ci;
mod deny;
mod e2e;
mod features;
mod fuzz;
mod go;
mod go_table;
mod groups_table;
mod messages_table;
mod mutants;
mod package;
mod packages;
mod picture;
mod pins;
mod process;
mod real_server;
mod sanitize;
mod semver;
mod sim;
mod soak;
mod tables;
mod test;
mod test_table;
mod toolchain;
mod tools;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The result of a chore. The error is printed for a person.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Development chores of kube-informer.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Prepare a real kube-apiserver and etcd, with kubectl and kube-controller-manager, to test against
    RealServer(real_server::RealServerOptions),
    /// Run the tests
    Test(test::TestOptions),
    /// Write how many tests run on which server to docs/conformance/servers.md
    TestTable {
        /// Only check whether the table is up to date
        #[arg(long)]
        check: bool,
    },
    /// Write the public API of the libraries to docs/api, and check which types of other crates it contains
    Api {
        /// Only check whether the files are up to date
        #[arg(long)]
        check: bool,
    },
    /// Run all checks that a change must pass
    Ci(ci::CiOptions),
    /// Run Kubernetes' own end-to-end specs of API machinery that need no nodes
    E2e(e2e::E2eOptions),
    /// Inject faults into a real cluster, and check the informers' contract
    Chaos(chaos::ChaosOptions),
    /// Compare the performance with client-go and kube-runtime
    Bench(bench::BenchOptions),
    /// Run seeded simulations with faults against the library, and check its contract
    Sim(sim::SimOptions),
    /// Plant bugs in a copy of the tree, and check that tests find them
    Mutants(mutants::MutantsOptions),
    /// Run informers for an hour, and check that memory and tasks do not grow
    Soak(soak::SoakOptions),
    /// Fuzz the readers, the embedded server and the informer with libFuzzer
    Fuzz(fuzz::FuzzOptions),
    /// Run tests with AddressSanitizer
    Sanitize(sanitize::SanitizeOptions),
    /// Build the book as HTML
    Book,
    /// Check whether the crates are ready to be published
    Package(package::PackageOptions),
    /// Check the public API against the last version for breaking changes
    Semver,
    /// Draw the README's picture of the demo
    Picture,
    /// Take the README's screenshots of the dashboard with Chromium
    Screenshots,
    /// Write the tables of built-in kinds, of the embedded server's resources, and of protobuf messages
    Tables {
        /// Only check whether the tables are up to date
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    if let Some(code) = api::as_rustdoc() {
        return code;
    }
    let root = root();
    let outcome = match Arguments::parse().chore {
        Chore::RealServer(options) => real_server::run(&options),
        Chore::Test(options) => test::run(&root, &options),
        Chore::TestTable { check } => test_table::run(&root, check),
        Chore::Api { check } => api::run(&root, check),
        Chore::Ci(options) => ci::run(&root, &options),
        Chore::E2e(options) => e2e::run(&root, &options),
        Chore::Chaos(options) => chaos::run(&root, &options),
        Chore::Bench(options) => bench::run(&root, &options),
        Chore::Sim(options) => sim::run(&root, &options),
        Chore::Mutants(options) => mutants::run(&root, &options),
        Chore::Soak(options) => soak::run(&root, &options),
        Chore::Fuzz(options) => fuzz::run(&root, &options),
        Chore::Sanitize(options) => sanitize::run(&root, &options),
        Chore::Book => book::run(&root),
        Chore::Package(options) => package::run(&root, &options),
        Chore::Semver => semver::run(&root),
        Chore::Picture => picture::run(&root),
        Chore::Screenshots => browser::screenshots(&root),
        Chore::Tables { check } => tables::run(&root, pins::KUBERNETES, check),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the workspace's folder.
fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}
