//! cargo-deny: licences, bans, sources and advisories of everything the workspace depends on (`deny.toml`).

use std::path::Path;
use std::process::Command;

use crate::ci::Verdict;
use crate::{Outcome, pins, process, tools};

/// The checks that need nothing but the lock file and the crates.
pub(crate) fn offline_checks(root: &Path) -> Outcome<Verdict> {
    process::run(check(root)?.args(["licenses", "bans", "sources"]))?;
    Ok(Verdict::Passed)
}

/// The check against the database of advisories, which lives in a Git repository that not every machine can reach.
pub(crate) fn advisories(root: &Path) -> Outcome<Verdict> {
    let fetched = command(root)?.args(["fetch", "db"]).output()?;
    if !fetched.status.success() {
        let said = String::from_utf8_lossy(&fetched.stderr);
        eprintln!("{}", said.trim_end());
        if !said.contains("failed to fetch") {
            return Err("cargo-deny cannot be used as it is set up".into());
        }
        return Ok(Verdict::NotRun(
            "the database of advisories cannot be fetched from here",
        ));
    }
    process::run(check(root)?.arg("advisories"))?;
    Ok(Verdict::Passed)
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
