//! `cargo xtask semver`: whether the libraries' public API broke what the last tagged version promised.

use std::path::Path;
use std::process::Command;

use crate::ci::Verdict;
use crate::packages::published;
use crate::{Outcome, pins, process, tools};

pub(crate) fn run(root: &Path) -> Outcome {
    match step(root)? {
        Verdict::Passed => println!("the public API keeps what the last version promised"),
        Verdict::NotRun(why) => println!("not run: {why}"),
    }
    Ok(())
}

/// The step of CI.
pub(crate) fn step(root: &Path) -> Outcome<Verdict> {
    let Some(tag) = last_version(root) else {
        return Ok(Verdict::NotRun(
            "no version is tagged yet, so there is nothing to compare with",
        ));
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
    Ok(Verdict::Passed)
}

/// The newest tag of a version, `v1.2.3`, that this commit comes after. Nothing also where there is no Git.
fn last_version(root: &Path) -> Option<String> {
    let mut git = Command::new("git");
    git.current_dir(root)
        .args(["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]);
    let tag = process::read(&mut git).ok()?;
    Some(tag.trim().to_owned())
}
