//! cargo-deny: licences, bans, sources and advisories of all dependencies (`deny.toml`).

use std::path::Path;
use std::process::Command;

use crate::ci::StepResult;
use crate::{Outcome, pins, process, tools};

/// Runs the checks that need only the lock file and the crates.
pub(crate) fn offline_checks(root: &Path) -> Outcome<StepResult> {
    process::run(check(root)?.args(["licenses", "bans", "sources"]))?;
    Ok(StepResult::Passed)
}

/// Checks the database of advisories, a Git repository that not every machine can reach.
pub(crate) fn advisories(root: &Path) -> Outcome<StepResult> {
    let fetched = command(root)?.args(["fetch", "db"]).output()?;
    if !fetched.status.success() {
        let stderr = String::from_utf8_lossy(&fetched.stderr);
        eprintln!("{}", stderr.trim_end());
        if !stderr.contains("failed to fetch") {
            return Err("cargo-deny failed".into());
        }
        return Ok(StepResult::NotRun("the database of advisories cannot be fetched"));
    }
    process::run(check(root)?.arg("advisories"))?;
    Ok(StepResult::Passed)
}

fn check(root: &Path) -> Outcome<Command> {
    let mut command = command(root)?;
    command.arg("check");
    Ok(command)
}

fn command(root: &Path) -> Outcome<Command> {
    let mut command = Command::new(tools::installed(root, "cargo-deny", pins::CARGO_DENY)?);
    command.current_dir(root).args(["--workspace", "--all-features"]);
    Ok(command)
}
