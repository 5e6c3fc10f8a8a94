//! Compilers, and where what they build goes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, process};

/// Where cargo puts what it builds.
pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Where cargo keeps what it fetches.
pub(crate) fn cargo_home() -> PathBuf {
    let home = || std::env::home_dir().unwrap_or_default().join(".cargo");
    std::env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from)
}

/// For what the compiler compiles, as `x86_64-unknown-linux-gnu`. Where it is named, build scripts get no flags of ours.
pub(crate) fn host(root: &Path) -> Outcome<String> {
    let version = process::read(Command::new("rustc").current_dir(root).arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "rustc does not say for what it compiles".into())
}

/// The cargo of a nightly compiler, if there is one.
pub(crate) fn nightly_cargo(root: &Path) -> Option<Command> {
    // The cargo that runs this is of one toolchain and says so; rustup takes the name of another.
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
