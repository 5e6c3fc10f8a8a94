//! `cargo xtask semver`: checks the libraries' public API for breaking changes since the last tagged version.

use std::path::Path;
use std::process::Command;

use crate::ci::StepResult;
use crate::packages::published;
use crate::{Outcome, pins, process, tools};

pub(crate) fn run(root: &Path) -> Outcome {
    match step(root)? {
        StepResult::Passed => println!("no breaking changes of the public API since the last version"),
        StepResult::NotRun(why) => println!("not run: {why}"),
    }
    Ok(())
}

/// Runs this as a step of CI.
pub(crate) fn step(root: &Path) -> Outcome<StepResult> {
    let Some(tag) = last_version(root) else {
        return Ok(StepResult::NotRun("no version is tagged yet"));
    };
    let program = tools::installed(root, "cargo-semver-checks", pins::CARGO_SEMVER_CHECKS)?;
    let mut check = Command::new(program);
    check
        .current_dir(root)
        .args(["semver-checks", "--baseline-rev", &tag]);
    for library in published(root)?.iter().filter(|package| package.is_library) {
        check.args(["--package", &library.name]);
    }
    println!("comparing with {tag}");
    process::run(&mut check)?;
    Ok(StepResult::Passed)
}

/// Returns the newest version tag, `v1.2.3`, before this commit. Returns none without Git.
fn last_version(root: &Path) -> Option<String> {
    let mut git = Command::new("git");
    git.current_dir(root)
        .args(["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]);
    let tag = process::read(&mut git).ok()?;
    Some(tag.trim().to_owned())
}
