//! Runs other programs.

use std::collections::HashMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Outcome;

/// Returns the cargo that runs this program, in the workspace's folder.
///
/// The variables that `cargo run` sets for this package are removed. Otherwise build scripts that depend on
/// them (ring's) would run again each time cargo is called from here and then by hand.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    for (name, _) in env::vars_os() {
        let of_package = name.to_str().is_some_and(|name| {
            ["CARGO_PKG_", "CARGO_MANIFEST_"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
        });
        if of_package {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command with inherited output. Fails unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| cannot_run(command, &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{}` failed: {status}", shown(command)).into())
    }
}

/// Runs a command and returns its standard output. Errors contain its standard error.
pub(crate) fn read(command: &mut Command) -> Outcome<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| cannot_run(command, &error))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "`{}` failed: {}\n{}",
            shown(command),
            output.status,
            stderr.trim_end()
        )
        .into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Runs `cargo build`, and returns the paths of the programs by name.
pub(crate) fn built_programs(cargo: &mut Command) -> Outcome<HashMap<String, PathBuf>> {
    let built = read(
        cargo
            .arg("--message-format=json-render-diagnostics")
            .stderr(Stdio::inherit()),
    )?;
    let messages = built
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let programs = messages.filter_map(|message| {
        let name = message["target"]["name"].as_str()?;
        let program = message["executable"].as_str()?;
        Some((name.to_owned(), PathBuf::from(program)))
    });
    Ok(programs.collect())
}

/// Returns the command as it would be typed.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

fn cannot_run(command: &Command, error: &std::io::Error) -> String {
    format!("cannot run `{}`: {error}", shown(command))
}
