//! A program that is told what to do and answers in lines of JSON.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::{Outcome, process};

/// Nothing that is asked takes longer, not even a list in JSON on a slow machine.
const PATIENCE: Duration = Duration::from_mins(5);

/// It ends with this value.
pub(super) struct Talking {
    name: String,
    child: Child,
    commands: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Talking {
    /// Starts it and waits until it says so; gives what it says.
    pub(super) fn start(command: &mut Command) -> Outcome<(Talking, Value)> {
        let name = process::shown(command);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot run `{name}`: {error}"))?;
        let (sender, answers) = channel();
        if let Some(output) = child.stdout.take() {
            // It ends with the program's output.
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        let mut talking = Talking {
            name,
            commands: child.stdin.take(),
            child,
            answers,
        };
        let started = talking.wait_for("started")?;
        Ok((talking, started))
    }

    /// Tells it to do something.
    pub(super) fn tell(&mut self, command: &str) -> Outcome {
        let commands = self.commands.as_mut().ok_or("it was told to end")?;
        writeln!(commands, "{command}")
            .map_err(|error| format!("`{}` does not listen: {error}", self.name))?;
        Ok(())
    }

    /// Waits until a step is done.
    pub(super) fn wait_for(&mut self, step: &str) -> Outcome<Value> {
        match self.answers.recv_timeout(PATIENCE) {
            Ok(line) => {
                let answer: Value = serde_json::from_str(&line)?;
                if answer["step"] == step {
                    Ok(answer)
                } else {
                    Err(format!("`{}` did not say {step}, but {answer}", self.name).into())
                }
            }
            Err(RecvTimeoutError::Timeout) => Err(format!("`{}` does not get to {step}", self.name).into()),
            Err(RecvTimeoutError::Disconnected) => {
                Err(format!("`{}` ended before {step}: {}", self.name, self.child.wait()?).into())
            }
        }
    }

    /// Tells it to do something and waits until that is done.
    pub(super) fn ask(&mut self, command: &str, step: &str) -> Outcome<Value> {
        self.tell(command)?;
        self.wait_for(step)
    }
}

impl Drop for Talking {
    fn drop(&mut self) {
        // A server cleans up when its input ends; who does not end by itself is ended.
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
