//! Programs that cargo built, run until their first failure.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::tree::Tree;
use crate::{Outcome, process};

/// Memory limit, in KiB: a mutant that allocates without end must not exhaust the machine.
const MEMORY: u64 = 8 << 20;

/// A test program or the simulator.
#[derive(Debug, Clone)]
pub(crate) struct BuiltProgram {
    path: PathBuf,
    /// The folder in which cargo would run it.
    folder: PathBuf,
}

/// The time limits of a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) cpu: Duration,
    pub(crate) time: Duration,
}

/// Builds test programs (`cargo test --no-run`) or programs (`cargo build`). The inner error is the
/// compiler's.
pub(crate) fn build(
    tree: &Tree,
    arguments: &[impl AsRef<str>],
    is_test: bool,
) -> Outcome<Result<Vec<BuiltProgram>, String>> {
    let mut cargo = tree.cargo();
    if is_test {
        cargo.args(["test", "--no-run"]);
    } else {
        cargo.arg("build");
    }
    cargo.args(arguments.iter().map(AsRef::as_ref));
    let compiled = CargoOutput::by(&mut cargo)?;
    if compiled.is_success {
        let messages = compiled.messages.iter();
        return Ok(Ok(messages
            .filter_map(|message| BuiltProgram::of(message, is_test))
            .collect()));
    }
    let errors: String = compiled
        .errors()
        .filter_map(|error| error["rendered"].as_str())
        .collect();
    if errors.is_empty() {
        // Cargo itself failed: this is not a result for the mutant.
        let stderr = compiled.stderr.trim_end();
        return Err(format!("`{}` failed: {stderr}", process::shown(&cargo)).into());
    }
    Ok(Err(errors))
}

/// The result of a cargo command that compiles.
pub(crate) struct CargoOutput {
    pub(crate) is_success: bool,
    messages: Vec<Value>,
    pub(crate) stderr: String,
}

impl CargoOutput {
    /// Runs cargo and reads its messages.
    pub(crate) fn by(cargo: &mut Command) -> Outcome<CargoOutput> {
        cargo
            .args(["--quiet", "--message-format", "json"])
            .stdin(Stdio::null());
        let output = cargo
            .output()
            .map_err(|error| format!("cannot run `{}`: {error}", process::shown(cargo)))?;
        let lines = String::from_utf8_lossy(&output.stdout);
        let messages = lines.lines().filter_map(|line| serde_json::from_str(line).ok());
        Ok(CargoOutput {
            is_success: output.status.success(),
            messages: messages.collect(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Returns the errors of the compiler.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &Value> {
        let messages = self.messages.iter().map(|message| &message["message"]);
        messages.filter(|message| message["level"] == "error")
    }
}

impl BuiltProgram {
    fn of(message: &Value, is_test: bool) -> Option<BuiltProgram> {
        let is_wanted = message["profile"]["test"].as_bool()? == is_test;
        let path = message["executable"].as_str().filter(|_| is_wanted)?;
        let manifest = PathBuf::from(message["manifest_path"].as_str()?);
        Some(BuiltProgram {
            path: path.into(),
            folder: manifest.parent()?.to_path_buf(),
        })
    }

    /// Returns the names of the tests in a test program that are not ignored.
    pub(crate) fn tests(&self) -> Outcome<Vec<String>> {
        let list = |arguments: &[&str]| {
            let mut command = Command::new(&self.path);
            command.current_dir(&self.folder).args(arguments);
            let listed = process::read(&mut command)?;
            let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
            Ok::<_, Box<dyn std::error::Error>>(names.map(str::to_owned).collect::<Vec<_>>())
        };
        let ignored = list(&["--list", "--format", "terse", "--ignored"])?;
        let mut tests = list(&["--list", "--format", "terse"])?;
        tests.retain(|test| !ignored.contains(test));
        Ok(tests)
    }

    /// Returns why the program failed, if it did. Ends it at the first failure.
    pub(crate) fn run(
        &self,
        arguments: &[String],
        variables: &[(&str, String)],
        limits: Limits,
    ) -> Outcome<Option<String>> {
        let script = format!(
            "ulimit -v {MEMORY}; ulimit -t {}; exec \"$0\" \"$@\" 2>&1",
            limits.cpu.as_secs().max(1)
        );
        let mut command = Command::new("sh");
        command
            .args(["-c", &script])
            .arg(&self.path)
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0);
        let mut child = command.spawn()?;
        let failure = watch(&mut child, Instant::now() + limits.time)?;
        if failure.is_some() {
            kill_group(&child);
        }
        let status = child.wait()?;
        Ok(failure.or_else(|| (!status.success()).then(|| format!("ended with {status}"))))
    }
}

/// Reads the output until it ends, reports a failure, or takes too long.
fn watch(child: &mut Child, deadline: Instant) -> Outcome<Option<String>> {
    let output = child.stdout.take().ok_or("the output is not piped")?;
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    first_failure(&lines, deadline)
}

fn first_failure(lines: &Receiver<String>, deadline: Instant) -> Outcome<Option<String>> {
    let mut failed_seed = None;
    loop {
        let line = match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return Ok(Some("timeout".to_owned())),
            Err(RecvTimeoutError::Disconnected) => return Ok(failed_seed),
        };
        if let Some(test) = failed_test(&line) {
            return Ok(Some(format!("test {test}")));
        }
        match &failed_seed {
            None => failed_seed = seed(&line).map(|seed| format!("seed {seed}")),
            Some(seed) => {
                if let Some(contract) = violated(&line) {
                    return Ok(Some(format!("{seed}, {contract}")));
                }
            }
        }
    }
}

fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// Returns the seed that the simulator reports as failed.
fn seed(line: &str) -> Option<&str> {
    let (seed, _) = line.strip_prefix("seed ")?.split_once(" fails")?;
    Some(seed)
}

/// Returns the violated line of the contract that the simulator reports, for example `contract 2 (forward
/// only)`.
fn violated(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("VIOLATION of ")?;
    Some(rest.split_once(':').map_or(rest, |(contract, _)| contract))
}

fn kill_group(child: &Child) {
    let _ = Command::new("kill")
        .args(["-KILL", "--", &format!("-{}", child.id())])
        .stderr(Stdio::null())
        .status();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_read_from_the_output() -> Outcome {
        let read = |lines: &[&str]| {
            let (sender, receiver) = channel();
            for line in lines {
                let _ = sender.send((*line).to_owned());
            }
            drop(sender);
            first_failure(&receiver, Instant::now() + Duration::from_mins(1))
        };
        let failed = read(&["test a::b ... ok", "test a::c ... FAILED", "test a::d ... FAILED"])?;
        assert_eq!(failed.as_deref(), Some("test a::c"));
        let seed = "seed 12 fails; after 0.1 s";
        let violation = "  360.000s  VIOLATION of contract 2 (forward only): informer 0: went back";
        assert_eq!(read(&[seed])?.as_deref(), Some("seed 12"));
        assert_eq!(
            read(&[seed, violation])?.as_deref(),
            Some("seed 12, contract 2 (forward only)")
        );
        assert_eq!(read(&["40 seeds from 1: the contract held"])?, None);
        Ok(())
    }
}
