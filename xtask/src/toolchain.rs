//! Compilers, and the folders of their output.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, process};

/// Returns cargo's target folder.
pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Returns cargo's home folder.
pub(crate) fn cargo_home() -> PathBuf {
    let home = || std::env::home_dir().unwrap_or_default().join(".cargo");
    std::env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from)
}

/// Returns the host target, for example `x86_64-unknown-linux-gnu`. If cargo gets it explicitly, build
/// scripts do not get our flags.
pub(crate) fn host(root: &Path) -> Outcome<String> {
    let version = process::read(Command::new("rustc").current_dir(root).arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "missing host in the output of rustc".into())
}

/// Returns the cargo of a nightly compiler, if installed.
pub(crate) fn nightly_cargo(root: &Path) -> Option<Command> {
    // The cargo that runs this program sets the toolchain; rustup accepts another name.
    let rustup = || {
        let mut rustup = Command::new("rustup");
        rustup.current_dir(root).args(["run", "nightly", "cargo"]);
        for name in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC"] {
            rustup.env_remove(name);
        }
        rustup
    };
    process::read(rustup().arg("--version")).ok()?;
    Some(rustup())
}
