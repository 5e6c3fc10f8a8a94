//! Tests and simulator runs that are expected to fail when there is a bug.

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

/// Memory limit of a detector, in KiB: a mutant that allocates without end must not take the machine down.
const MEMORY: u64 = 8 << 20;
/// Shortest limit of processor time, in seconds, and of time on the clock.
const LEAST_CPU: u64 = 20;
const LEAST_TIME: Duration = Duration::from_mins(1);

/// Something that finds bugs: tests, or the simulator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Detector {
    /// Arguments of `cargo build` or `cargo test --no-run`.
    build: Vec<String>,
    /// Arguments of the programs that were built. They run once with each of these.
    runs: Vec<Vec<String>>,
    is_test: bool,
}

/// What a detector did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It failed, for this reason.
    Found(String),
    NotFound,
    /// The tree does not compile; what the compiler wrote.
    Unviable(String),
}

impl Detector {
    /// Tests, given by arguments of `cargo test` and of the test programs.
    pub(crate) fn tests(build: &[&str], run: &[&str]) -> Detector {
        Detector {
            build: owned(build),
            runs: vec![owned(run)],
            is_test: true,
        }
    }

    /// The unit tests of a package: first those named, then those closest to a module, then the others.
    pub(crate) fn unit_tests(package: &str, module: &[&str], first: &[&str]) -> Detector {
        let mut runs = Vec::new();
        if !first.is_empty() {
            runs.push(
                [&["--exact"], first]
                    .concat()
                    .iter()
                    .map(ToString::to_string)
                    .collect(),
            );
        }
        let mut skip = Vec::new();
        for depth in (1..=module.len()).rev() {
            for tests in ["tests::", ""] {
                let name = format!("{}::{tests}", module[..depth].join("::"));
                let mut run = vec![name.clone()];
                run.extend_from_slice(&skip);
                runs.push(run);
                skip.extend(["--skip".to_owned(), name]);
            }
        }
        runs.push(skip);
        Detector {
            build: owned(&["--package", package, "--lib"]),
            runs,
            is_test: true,
        }
    }

    /// The simulator with the first seeds.
    pub(crate) fn simulator(seeds: u64, options: &[&str]) -> Detector {
        let seeds = seeds.to_string();
        Detector {
            build: owned(&["--package", "sim"]),
            runs: vec![owned(&[&["--no-shrink", "--seeds", &seeds], options].concat())],
            is_test: false,
        }
    }

    /// Reads the header of a patch: `sim OPTIONS`, or `cargo test ARGUMENTS -- NAMES`.
    pub(crate) fn parse(text: &str, seeds: u64) -> Outcome<Detector> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match *words {
            ["sim", "--seeds", seeds, ref options @ ..] => Ok(Detector::simulator(seeds.parse()?, options)),
            ["sim", ref options @ ..] => Ok(Detector::simulator(seeds, options)),
            ["cargo", "test", ref arguments @ ..] => {
                let (build, run) = match arguments.iter().position(|word| *word == "--") {
                    Some(at) => (&arguments[..at], &arguments[at + 1..]),
                    None => (arguments, &[][..]),
                };
                Ok(Detector::tests(build, run))
            }
            _ => Err(format!(
                "unknown detector \"{text}\": expected `sim OPTIONS` or `cargo test ARGUMENTS -- NAMES`"
            )
            .into()),
        }
    }

    /// Builds and runs the detector. `baseline` is how long it runs without a bug.
    pub(crate) fn detect(&self, tree: &Tree, baseline: Duration) -> Outcome<Verdict> {
        let programs = match self.build(tree)? {
            Ok(programs) => programs,
            Err(message) => return Ok(Verdict::Unviable(message)),
        };
        Ok(match self.run_all(&programs, baseline)? {
            Some(failure) => Verdict::Found(failure),
            None => Verdict::NotFound,
        })
    }

    /// Runs the detector on a tree without bugs and returns how long it ran, without the build.
    pub(crate) fn baseline(&self, tree: &Tree) -> Outcome<Duration> {
        let shown = self.shown();
        let programs = self
            .build(tree)?
            .map_err(|message| format!("the tree does not compile: `{shown}`\n{message}"))?;
        let began = Instant::now();
        match self.run_all(&programs, Duration::from_mins(1))? {
            Some(failure) => Err(format!("`{shown}` fails without a bug: {failure}").into()),
            None => Ok(began.elapsed()),
        }
    }

    /// The command that runs all of it.
    pub(crate) fn shown(&self) -> String {
        let command = if self.is_test { "test" } else { "run" };
        let mut words = vec!["cargo", command];
        words.extend(self.build.iter().map(String::as_str));
        if let [run] = &*self.runs
            && !run.is_empty()
        {
            words.push("--");
            words.extend(run.iter().map(String::as_str));
        }
        words.join(" ")
    }

    fn run_all(&self, programs: &[Program], baseline: Duration) -> Outcome<Option<String>> {
        for run in &self.runs {
            for program in programs {
                if let Some(failure) = program.run(run, baseline)? {
                    return Ok(Some(failure));
                }
            }
        }
        Ok(None)
    }

    fn build(&self, tree: &Tree) -> Outcome<Result<Vec<Program>, String>> {
        let mut cargo = tree.cargo();
        if self.is_test {
            cargo.args(["test", "--no-run"]);
        } else {
            cargo.arg("build");
        }
        cargo
            .args(["--quiet", "--message-format", "json"])
            .args(&self.build)
            .stdin(Stdio::null());
        let output = cargo
            .output()
            .map_err(|error| format!("cannot run `{}`: {error}", process::shown(&cargo)))?;
        let messages = String::from_utf8_lossy(&output.stdout);
        let messages = messages
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        if output.status.success() {
            return Ok(Ok(messages
                .filter_map(|message| Program::of(&message, self.is_test))
                .collect()));
        }
        let errors: String = messages
            .filter(|message| message["message"]["level"] == "error")
            .filter_map(|message| Some(message["message"]["rendered"].as_str()?.to_owned()))
            .collect();
        if errors.is_empty() {
            // Cargo itself failed: this says nothing about the mutant.
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`{}` failed: {}", process::shown(&cargo), said.trim_end()).into());
        }
        Ok(Err(errors))
    }
}

/// A program that cargo built.
struct Program {
    path: PathBuf,
    /// Where cargo would run it.
    folder: PathBuf,
}

impl Program {
    fn of(message: &Value, is_test: bool) -> Option<Program> {
        let is_wanted = message["profile"]["test"].as_bool()? == is_test;
        let path = message["executable"].as_str().filter(|_| is_wanted)?;
        let manifest = PathBuf::from(message["manifest_path"].as_str()?);
        Some(Program {
            path: path.into(),
            folder: manifest.parent()?.to_path_buf(),
        })
    }

    /// Why the program failed, if it did. Ends it at the first failure.
    fn run(&self, arguments: &[String], baseline: Duration) -> Outcome<Option<String>> {
        let cpu = (8 * baseline.as_secs()).max(LEAST_CPU);
        let limits = format!("ulimit -v {MEMORY}; ulimit -t {cpu}; exec \"$0\" \"$@\" 2>&1");
        let mut command = Command::new("sh");
        command
            .args(["-c", &limits])
            .arg(&self.path)
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0);
        let mut child = command.spawn()?;
        let failure = watch(&mut child, Instant::now() + (5 * baseline).max(LEAST_TIME))?;
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
            Err(RecvTimeoutError::Timeout) => return Ok(Some("took too long".to_owned())),
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

/// The seed that the simulator says has failed.
fn seed(line: &str) -> Option<&str> {
    let (seed, _) = line.strip_prefix("seed ")?.split_once(" fails")?;
    Some(seed)
}

/// The line of the contract that the simulator says was violated, as in `contract 2 (forward only)`.
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

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detector_is_the_simulator_or_tests() -> Outcome {
        assert_eq!(Detector::parse("sim", 7)?, Detector::simulator(7, &[]));
        assert_eq!(
            Detector::parse("sim --seeds 9 --from 3", 7)?,
            Detector::simulator(9, &["--from", "3"])
        );
        assert_eq!(
            Detector::parse("cargo test -p kube-informer --lib -- one two", 7)?,
            Detector::tests(&["-p", "kube-informer", "--lib"], &["one", "two"])
        );
        assert!(Detector::parse("chaos", 7).is_err());
        Ok(())
    }

    #[test]
    fn unit_tests_of_the_module_run_before_others() {
        let detector = Detector::unit_tests("p", &["tree"], &["other::it_works"]);
        let expected = [
            vec!["--exact", "other::it_works"],
            vec!["tree::tests::"],
            vec!["tree::", "--skip", "tree::tests::"],
            vec!["--skip", "tree::tests::", "--skip", "tree::"],
        ];
        assert_eq!(detector.runs, expected);
        assert_eq!(detector.shown(), "cargo test --package p --lib");
    }

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
