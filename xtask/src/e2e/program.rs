//! Runs e2e.test.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::report::Results;
use crate::{Outcome, real_server};

/// Kubernetes' end-to-end tests, for one server.
pub(super) struct E2eTest {
    program: PathBuf,
    kubectl: PathBuf,
    kubeconfig: PathBuf,
}

/// Time that an interrupted spec has for its cleanup.
const GRACE: &str = "5s";

impl E2eTest {
    /// Builds what is missing.
    pub(super) fn prepare(kubeconfig: &Path) -> Outcome<Self> {
        Ok(Self {
            program: real_server::e2e_test()?,
            kubectl: real_server::kubectl()?,
            kubeconfig: kubeconfig.to_owned(),
        })
    }

    /// Runs the specs with these names, one after the other, within a time limit. Writes a log and a report to `path`, with
    /// different extensions.
    pub(super) fn run(&self, names: &[String], limit: Duration, path: &Path) -> Outcome<Results> {
        if names.is_empty() {
            return Ok(Results::default());
        }
        let mut command = self.command(&focus(names), path);
        command
            .arg(format!("--ginkgo.timeout={}s", limit.as_secs()))
            .args(["--ginkgo.grace-period", GRACE]);
        run(&mut command, path)
    }

    /// Returns the names of the specs that match one regular expression of Go and not the other.
    pub(super) fn list(&self, focus: &str, skip: &str, path: &Path) -> Outcome<Vec<String>> {
        let mut command = self.command(focus, path);
        command.args(["--ginkgo.dry-run", "--ginkgo.skip", skip]);
        Ok(run(&mut command, path)?.into_passed())
    }

    fn command(&self, focus: &str, path: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["--ginkgo.no-color", "--ginkgo.focus", focus])
            .arg("--ginkgo.json-report")
            .arg(path.with_extension("json"))
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--kubectl-path")
            .arg(&self.kubectl)
            // There are no nodes, and no controller creates service accounts.
            .args([
                "--provider=skeleton",
                "--num-nodes=0",
                "--allowed-not-ready-nodes=-1",
            ])
            .args([
                "--e2e-verify-service-account=false",
                "--dump-logs-on-failure=false",
            ]);
        command
    }
}

/// Runs e2e.test, which fails if a spec fails: the report tells which.
fn run(command: &mut Command, path: &Path) -> Outcome<Results> {
    let log_path = path.with_extension("log");
    let report = path.with_extension("json");
    let log = File::create(&log_path)?;
    let status = command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .status()
        .map_err(|error| format!("cannot run e2e.test: {error}"))?;
    if !report.is_file() {
        let log = fs::read_to_string(&log_path)?;
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(15)..].join("\n");
        return Err(format!("e2e.test wrote no report: {status}; its log ends with:\n{tail}").into());
    }
    let results = Results::read(&report)?;
    fs::remove_file(report)?;
    Ok(results)
}

/// Returns a regular expression of Go that matches exactly these names, with any words before them.
fn focus(names: &[String]) -> String {
    let alternatives: Vec<String> = names.iter().map(|name| regex::escape(name)).collect();
    format!("({})$", alternatives.join("|"))
}
