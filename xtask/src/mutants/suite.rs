//! A test program, and the mutants that each of its tests reaches.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::parallel;
use super::program::{BuiltProgram, Limits};
use super::switch::Id;
use crate::Outcome;

/// Maximum factor by which a mutant may slow down a test.
const SLOWER: u32 = 10;
/// Minimum of that additional time.
const LEAST: Duration = Duration::from_secs(15);
/// Time limits of one test without a mutant.
const LONGEST: Limits = Limits {
    cpu: Duration::from_mins(5),
    time: Duration::from_mins(5),
};
/// Sizes of the first batches. The fastest tests run first; the last batch contains all others.
const BATCHES: [usize; 2] = [8, 32];

/// A program and its tests, the fastest first.
#[derive(Debug)]
pub(crate) struct TracedSuite {
    program: BuiltProgram,
    /// Arguments before those of the tests.
    options: &'static [&'static str],
    tests: Vec<Test>,
}

#[derive(Debug)]
struct Test {
    /// The arguments that run it.
    arguments: Vec<String>,
    took: Duration,
    /// The switches that it reaches.
    reaches: HashSet<Id>,
}

impl TracedSuite {
    /// Runs each test of a program alone, to determine which switches it reaches. A test that fails would
    /// catch every mutant.
    pub(crate) fn of_tests(program: BuiltProgram, folder: &Path) -> Outcome<TracedSuite> {
        let names = program.tests()?;
        let arguments: Vec<_> = names.into_iter().map(|name| vec![name]).collect();
        TracedSuite::trace(program, &arguments, &["--exact"], folder)
    }

    /// Returns a program that is a single test.
    pub(crate) fn of_program(
        program: BuiltProgram,
        arguments: &[&str],
        folder: &Path,
    ) -> Outcome<TracedSuite> {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned());
        TracedSuite::trace(program, &[arguments.collect()], &[], folder)
    }

    fn trace(
        program: BuiltProgram,
        tests: &[Vec<String>],
        options: &'static [&'static str],
        folder: &Path,
    ) -> Outcome<TracedSuite> {
        fs::create_dir_all(folder)?;
        let mut traced = parallel::map(tests, |at, arguments| {
            let file = folder.join(format!("{at}.trace"));
            let _ = fs::remove_file(&file);
            let trace = ("MUTANT_TRACE", file.display().to_string());
            let began = Instant::now();
            let run = with_options(options, arguments.iter());
            if let Some(failure) = program.run(&run, &[trace], LONGEST)? {
                return Err(format!("`{}` fails without a mutant: {failure}", run.join(" ")).into());
            }
            Ok(Test {
                arguments: arguments.clone(),
                took: began.elapsed(),
                // A test that reaches no switch writes no file.
                reaches: numbers(&fs::read_to_string(&file).unwrap_or_default()),
            })
        })?;
        traced.sort_by_key(|test| test.took);
        Ok(TracedSuite {
            program,
            options,
            tests: traced,
        })
    }

    /// Returns how the tests that reach a switch catch a mutant, if they do.
    pub(crate) fn catches(&self, mutant: Id, switch: Id) -> Outcome<Option<String>> {
        let tests = self.tests.iter().filter(|test| test.reaches.contains(&switch));
        let tests: Vec<&Test> = tests.collect();
        let mut rest = tests.as_slice();
        for size in BATCHES.into_iter().chain([usize::MAX]) {
            let (batch, others) = rest.split_at(size.min(rest.len()));
            rest = others;
            if batch.is_empty() {
                return Ok(None);
            }
            let took: Duration = batch.iter().map(|test| test.took).sum();
            let longest = LEAST + SLOWER * took;
            let arguments = with_options(self.options, batch.iter().flat_map(|test| &test.arguments));
            let limits = Limits {
                cpu: longest,
                time: longest,
            };
            let variables = [("MUTANT", mutant.to_string())];
            if let Some(failure) = self.program.run(&arguments, &variables, limits)? {
                return Ok(Some(failure));
            }
        }
        Ok(None)
    }
}

fn with_options<'a>(options: &[&str], arguments: impl Iterator<Item = &'a String>) -> Vec<String> {
    let options = options.iter().map(|option| (*option).to_owned());
    options.chain(arguments.cloned()).collect()
}

fn numbers(text: &str) -> HashSet<Id> {
    text.lines().filter_map(|line| line.parse().ok()).collect()
}
