//! A child process that reads commands and writes responses as lines of JSON.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::{Outcome, process};

/// Timeout of every command: enough for a list in JSON on a slow machine.
const TIMEOUT: Duration = Duration::from_mins(5);

/// A running process. Dropping it ends the process.
pub(super) struct ChildProcess {
    name: String,
    child: Child,
    commands: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl ChildProcess {
    /// Starts a process and waits until it is ready. Returns its first response.
    pub(super) fn start(command: &mut Command) -> Outcome<(ChildProcess, Value)> {
        let name = process::shown(command);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot run `{name}`: {error}"))?;
        let (sender, answers) = channel();
        if let Some(output) = child.stdout.take() {
            // The thread ends with the program's output.
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        let mut process = ChildProcess {
            name,
            commands: child.stdin.take(),
            child,
            answers,
        };
        let started = process.wait_for("started")?;
        Ok((process, started))
    }

    /// Sends a command.
    pub(super) fn tell(&mut self, command: &str) -> Outcome {
        let commands = self.commands.as_mut().ok_or("the process was asked to end")?;
        writeln!(commands, "{command}")
            .map_err(|error| format!("cannot write to `{}`: {error}", self.name))?;
        Ok(())
    }

    /// Waits until a step is done.
    pub(super) fn wait_for(&mut self, step: &str) -> Outcome<Value> {
        match self.answers.recv_timeout(TIMEOUT) {
            Ok(line) => {
                let answer: Value = serde_json::from_str(&line)?;
                if answer["step"] == step {
                    Ok(answer)
                } else {
                    Err(format!(
                        "unexpected response of `{}`: expected {step}, got {answer}",
                        self.name
                    )
                    .into())
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("`{}` did not reach {step} in time", self.name).into())
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(format!("`{}` ended before {step}: {}", self.name, self.child.wait()?).into())
            }
        }
    }

    /// Sends a command and waits until it is done.
    pub(super) fn ask(&mut self, command: &str, step: &str) -> Outcome<Value> {
        self.tell(command)?;
        self.wait_for(step)
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // A server cleans up when its input ends. Kill the process if it does not end by itself.
        drop(self.commands.take());
        for _ in 0..50 {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
