//! Chromium from the system's packages, for the tests of the dashboard and for screenshots.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::ci::StepResult;
use crate::{Outcome, process, real_server};

/// Names of the packages in Debian.
const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// Variable with the folder for the tests' screenshots.
const PICTURES: &str = "KUBE_INFORMER_SCREENSHOTS";

/// Runs the tests in a browser. Installs the browser if it is missing.
pub(crate) fn tests(root: &Path) -> Outcome<StepResult> {
    if !is_there() && !install()? {
        return Ok(StepResult::NotRun(
            "Chromium and chromedriver are not installed, and only root on Debian or Ubuntu can install them",
        ));
    }
    let mut cargo = suite(root, &[]);
    if let Some(assets) = real_server::at_hand()? {
        cargo.env(real_server::ASSETS, assets);
    }
    process::run(&mut cargo)?;
    Ok(StepResult::Passed)
}

/// Takes the screenshots of the README, which takes a few minutes.
pub(crate) fn screenshots(root: &Path) -> Outcome {
    if !is_there() && !install()? {
        return Err(format!("install {} first", PACKAGES.join(" and ")).into());
    }
    let mut cargo = suite(root, &["screenshots"]);
    cargo.env(PICTURES, root.join("docs/screenshots"));
    process::run(&mut cargo)
}

/// Returns the command for the tests in a browser, which `cargo test` skips.
fn suite(root: &Path, names: &[&str]) -> Command {
    let mut cargo = process::cargo(root);
    cargo
        .args(["test", "--package", "conformance", "--test", "dashboard"])
        .args(names)
        .args(["--", "--include-ignored"]);
    cargo
}

fn is_there() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let has = |name: &str| env::split_paths(&path).any(|folder| folder.join(name).is_file());
    has("chromedriver") && (has("chromium") || has("chromium-browser") || has("google-chrome"))
}

/// Installs the packages if that requires no interaction. Returns whether they are installed.
fn install() -> Outcome<bool> {
    let can = |program: &str, args: &[&str]| process::read(Command::new(program).args(args)).is_ok();
    let is_root = process::read(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !can("apt-get", &["--version"]) || !(is_root || can("sudo", &["-n", "true"])) {
        return Ok(false);
    }
    eprintln!("installing {}", PACKAGES.join(" and "));
    let apt = |args: &[&str]| {
        let mut command = if is_root {
            Command::new("apt-get")
        } else {
            let mut sudo = Command::new("sudo");
            sudo.args(["-n", "apt-get"]);
            sudo
        };
        process::run(command.args(args).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update", "--quiet"])?;
    apt(&[
        &["install", "--yes", "--quiet", "--no-install-recommends"],
        &PACKAGES[..],
    ]
    .concat())?;
    Ok(is_there())
}
