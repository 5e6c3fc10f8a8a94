//! `cargo xtask e2e`: runs Kubernetes' own end-to-end specs of API machinery that need no nodes.

mod lists;
mod program;
mod report;
mod server;
mod update;
mod verdict;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use regex::Regex;

use crate::ci::StepResult;
use crate::{Outcome, go, real_server};
use lists::Lists;
use program::E2eTest;
use server::Server;
use verdict::Comparison;

/// Time limit of the specs that must pass.
const LIMIT: Duration = Duration::from_mins(20);

/// Time limit of the exceptions. Many would wait for minutes.
const EXCEPTIONS_LIMIT: Duration = Duration::from_mins(1);

#[derive(Args, Debug)]
pub(crate) struct E2eOptions {
    /// Run the specs on a real kube-apiserver
    #[arg(long)]
    real: bool,
    /// Only run specs whose name matches this regular expression
    #[arg(long, value_name = "REGEX")]
    focus: Option<Regex>,
    /// Run all specs of API machinery on a real kube-apiserver, and write those that pass to tests/e2e/passing.txt
    #[arg(long)]
    update: bool,
}

pub(crate) fn run(root: &Path, options: &E2eOptions) -> Outcome {
    let lists = Lists::read(root)?;
    let focused = |name: &str| options.focus.as_ref().is_none_or(|focus| focus.is_match(name));
    if options.update {
        return update::run(root, lists, &focused);
    }
    let specs: Vec<String> = lists
        .passing
        .iter()
        .filter(|name| focused(name))
        .cloned()
        .collect();
    if specs.is_empty() {
        return Err("no spec in tests/e2e/passing.txt matches --focus".into());
    }
    check(root, &lists, &specs, options.real)
}

/// Runs the quick specs on the embedded server.
pub(crate) fn step(root: &Path) -> Outcome<StepResult> {
    if !go::is_installed() && real_server::e2e_test_at_hand()?.is_none() {
        return Ok(StepResult::NotRun("Go is not installed"));
    }
    let lists = Lists::read(root)?;
    check(root, &lists, &lists.quick(), false)?;
    Ok(StepResult::Passed)
}

/// Runs specs, prints a table, and compares the results with the lists.
fn check(root: &Path, lists: &Lists, specs: &[String], real: bool) -> Outcome {
    let folder = Folder::create()?;
    let server = Server::start(root, &folder.0, real)?;
    let program = E2eTest::prepare(server.kubeconfig())?;
    let none = Lists::default();
    let lists = if real { &none } else { lists };
    let (excepted, required): (Vec<_>, Vec<_>) = specs
        .iter()
        .cloned()
        .partition(|name| lists.exceptions.contains_key(name));
    let mut results = program.run(&required, LIMIT, &folder.0.join("specs"))?;
    results.add(program.run(&excepted, EXCEPTIONS_LIMIT, &folder.0.join("exceptions"))?);
    drop(server);
    let comparison = Comparison::new(specs, &results, lists);
    print!("{comparison}");
    match comparison.failures() {
        0 => Ok(()),
        failures => {
            let logs = folder.keep();
            Err(format!(
                "{failures} of {} specs differ from tests/e2e; logs: {}",
                specs.len(),
                logs.display()
            )
            .into())
        }
    }
}

/// A temporary folder for a kubeconfig, reports and logs.
struct Folder(PathBuf);

impl Folder {
    fn create() -> Outcome<Self> {
        let path = env::temp_dir().join(format!("kube-informer-e2e-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// Returns the path of the folder, which is not deleted.
    fn keep(mut self) -> PathBuf {
        std::mem::take(&mut self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.0 != Path::new("") {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
