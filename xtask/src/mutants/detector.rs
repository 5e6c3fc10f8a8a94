//! Tests and simulator runs that are expected to fail when there is a bug.

use std::time::{Duration, Instant};

use super::program::{self, BuiltProgram, Limits};
use super::tree::Tree;
use crate::Outcome;

/// Minimum limit of CPU time and of elapsed time.
const LEAST_CPU: Duration = Duration::from_secs(20);
const LEAST_TIME: Duration = Duration::from_mins(1);

/// Tests or simulator runs that find bugs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Detector {
    /// Arguments of `cargo build` or `cargo test --no-run`.
    build: Vec<String>,
    /// Arguments of the built programs, which run once with each of these.
    runs: Vec<Vec<String>>,
    is_test: bool,
}

/// The result of a detector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Detection {
    /// It failed, for this reason.
    Found(String),
    NotFound,
    /// The tree does not compile. Contains the compiler's output.
    Unviable(String),
}

impl Detector {
    /// Returns tests, selected by arguments of `cargo test` and of the test programs.
    pub(crate) fn tests(build: &[&str], run: &[&str]) -> Detector {
        Detector {
            build: owned(build),
            runs: vec![owned(run)],
            is_test: true,
        }
    }

    /// Returns the unit tests of a package: first those closest to a module, then the others.
    pub(crate) fn unit_tests(package: &str, module: &[&str]) -> Detector {
        let mut runs = Vec::new();
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
            build: owned(&["--package", package, "--all-features", "--lib"]),
            runs,
            is_test: true,
        }
    }

    /// Returns the simulator with the first seeds.
    pub(crate) fn simulator(seeds: u64, options: &[&str]) -> Detector {
        let seeds = seeds.to_string();
        Detector {
            build: owned(&["--package", "sim"]),
            runs: vec![owned(&[&["--no-shrink", "--seeds", &seeds], options].concat())],
            is_test: false,
        }
    }

    /// Parses the header of a patch: `sim OPTIONS`, or `cargo test ARGUMENTS -- NAMES`.
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

    /// Builds and runs the detector. `baseline` is the time that it needs without a bug.
    pub(crate) fn detect(&self, tree: &Tree, baseline: Duration) -> Outcome<Detection> {
        let programs = match program::build(tree, &self.build, self.is_test)? {
            Ok(programs) => programs,
            Err(message) => return Ok(Detection::Unviable(message)),
        };
        Ok(match self.run_all(&programs, baseline)? {
            Some(failure) => Detection::Found(failure),
            None => Detection::NotFound,
        })
    }

    /// Runs the detector on a tree without bugs and returns the time that it needs, without the build.
    pub(crate) fn baseline(&self, tree: &Tree) -> Outcome<Duration> {
        let shown = self.shown();
        let programs = program::build(tree, &self.build, self.is_test)?
            .map_err(|message| format!("the tree does not compile: `{shown}`\n{message}"))?;
        let began = Instant::now();
        match self.run_all(&programs, Duration::from_mins(1))? {
            Some(failure) => Err(format!("`{shown}` fails without a bug: {failure}").into()),
            None => Ok(began.elapsed()),
        }
    }

    /// Returns the command that runs all of it.
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

    fn run_all(&self, programs: &[BuiltProgram], baseline: Duration) -> Outcome<Option<String>> {
        let limits = Limits {
            cpu: (8 * baseline).max(LEAST_CPU),
            time: (5 * baseline).max(LEAST_TIME),
        };
        for run in &self.runs {
            for program in programs {
                if let Some(failure) = program.run(run, &[], limits)? {
                    return Ok(Some(failure));
                }
            }
        }
        Ok(None)
    }
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
        let detector = Detector::unit_tests("p", &["tree"]);
        let expected = [
            vec!["tree::tests::"],
            vec!["tree::", "--skip", "tree::tests::"],
            vec!["--skip", "tree::tests::", "--skip", "tree::"],
        ];
        assert_eq!(detector.runs, expected);
        assert_eq!(detector.shown(), "cargo test --package p --all-features --lib");
    }
}
