//! cargo-deny: licences, bans, sources and advisories of everything the workspace depends on (`deny.toml`).

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::Verdict;
use crate::{Outcome, cache, pins, process};

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
    let mut command = Command::new(installed(root)?);
    command.current_dir(root).args(["--workspace", "--all-features"]);
    Ok(command)
}

/// The program, installed by name outside the tree.
fn installed(root: &Path) -> Outcome<PathBuf> {
    let folder = cache::folder()?
        .join("tools")
        .join(format!("cargo-deny-{}", pins::CARGO_DENY));
    let program = folder.join("bin/cargo-deny");
    if !program.is_file() {
        eprintln!(
            "installing cargo-deny {} (minutes the first time)",
            pins::CARGO_DENY
        );
        let mut install = process::cargo(root);
        install
            .args([
                "install",
                "--quiet",
                "--locked",
                "cargo-deny",
                "--version",
                pins::CARGO_DENY,
                "--root",
            ])
            .arg(&folder);
        process::run(&mut install)?;
    }
    Ok(program)
}
