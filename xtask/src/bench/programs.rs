//! The programs that measure: several in Rust, and for each benchmark one in Go.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::benchmarks::{Benchmark, Implementation, ScenarioRun};
use crate::{Outcome, cache, go, process};

/// The paths of the programs.
pub(super) struct Programs {
    rust: HashMap<String, PathBuf>,
    /// The folder of the programs in Go. None if Go is not installed.
    go: Option<PathBuf>,
}

impl Programs {
    pub(super) fn build(root: &Path) -> Outcome<Programs> {
        Ok(Programs {
            rust: build_rust(
                root,
                &["pipeline", "pipeline_memory", "queue", "queue_memory"],
                Build::Quick,
            )?,
            go: build_go(root, &["pipeline", "queue"])?,
        })
    }

    /// Builds the programs of the benchmark on a cluster.
    pub(super) fn build_cluster(root: &Path, build: Build) -> Outcome<Programs> {
        Ok(Programs {
            rust: build_rust(root, &["cluster", "cluster_heap", "cluster_server"], build)?,
            go: build_go(root, &["cluster"])?,
        })
    }

    /// Returns a program in Rust.
    pub(super) fn rust(&self, name: &str) -> Outcome<Command> {
        let program = self.rust.get(name);
        Ok(Command::new(
            program.ok_or_else(|| format!("cargo did not build {name}"))?,
        ))
    }

    /// Returns a program in Go.
    pub(super) fn go(&self, name: &str) -> Outcome<Command> {
        let folder = self.go.as_ref().ok_or("this benchmark needs Go")?;
        Ok(Command::new(folder.join(name)))
    }

    /// Runs a scenario. Measurements are lines of JSON.
    pub(super) fn run(
        &self,
        benchmark: &Benchmark,
        subject: Implementation,
        run: &ScenarioRun,
        quick: bool,
    ) -> Outcome<String> {
        let flags = [run.flag, if quick { "--quick" } else { "" }];
        let flags = flags.into_iter().filter(|flag| !flag.is_empty());
        // Go's flags must precede other arguments; clap accepts any order.
        let mut command = if subject == Implementation::ClientGo {
            if self.go.is_none() {
                return Ok(String::new());
            }
            let mut command = self.go(benchmark.name)?;
            command.args(flags);
            command
        } else {
            let mut command = self.rust(run.program)?;
            command.args(flags).arg(subject.name());
            command
        };
        process::read(command.arg(run.scenario))
    }
}

/// How programs in Rust are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Build {
    /// Like `--release`.
    Quick,
    /// With optimisation across crates, as for released programs; Go always does this.
    Thorough,
}

fn build_rust(root: &Path, programs: &[&str], build: Build) -> Outcome<HashMap<String, PathBuf>> {
    let mut cargo = process::cargo(root);
    if build == Build::Thorough {
        cargo.env("CARGO_PROFILE_RELEASE_LTO", "fat");
    }
    process::built_programs(
        cargo
            .args(["build", "--release", "--package", "bench"])
            .args(programs.iter().flat_map(|program| ["--bin", program])),
    )
}

fn build_go(root: &Path, programs: &[&str]) -> Outcome<Option<PathBuf>> {
    if !go::is_installed() {
        eprintln!("client-go is not measured: Go is not installed");
        return Ok(None);
    }
    let folder = cache::folder()?.join("bench/client-go-programs");
    let _lock = cache::take(&folder)?;
    // With the slash, Go names the programs after their packages.
    let into = folder.join("");
    process::run(
        go::command(&root.join("benches/client_go"))
            .args(["build", "-o"])
            .arg(&into)
            .args(programs.iter().map(|program| format!("./{program}"))),
    )?;
    Ok(Some(folder))
}
