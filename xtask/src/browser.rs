//! Chromium, for the tests of the dashboard and for its pictures: from the system's packages.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::ci::Verdict;
use crate::{Outcome, process, real_server};

/// Debian's names.
const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// Where the tests put the pictures they take.
const PICTURES: &str = "KUBE_INFORMER_SCREENSHOTS";

/// Runs the tests that drive a browser, which is installed if it is not there.
pub(crate) fn tests(root: &Path) -> Outcome<Verdict> {
    if !is_there() && !install()? {
        return Ok(Verdict::NotRun(
            "there is no Chromium with chromedriver, and it can be installed only by root on Debian or Ubuntu",
        ));
    }
    let mut cargo = suite(root, &[]);
    if let Some(assets) = real_server::at_hand()? {
        cargo.env(real_server::ASSETS, assets);
    }
    process::run(&mut cargo)?;
    Ok(Verdict::Passed)
}

/// Takes the README's pictures anew; it takes some minutes.
pub(crate) fn screenshots(root: &Path) -> Outcome {
    if !is_there() && !install()? {
        return Err(format!("install {} first", PACKAGES.join(" and ")).into());
    }
    let mut cargo = suite(root, &["pictures"]);
    cargo.env(PICTURES, root.join("docs/screenshots"));
    process::run(&mut cargo)
}

/// The tests in a browser, which `cargo test` leaves out.
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

/// Installs the packages where that needs no questions; whether it could.
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
