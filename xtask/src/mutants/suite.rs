//! A test program, and which mutants each of its tests reaches.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::parallel;
use super::program::{Limits, Program};
use super::switch::Id;
use crate::Outcome;

/// How many times longer than without a mutant a test may run.
const SLOWER: u32 = 10;
/// How much longer at least.
const LEAST: Duration = Duration::from_secs(15);
/// How long one test may run without a mutant.
const LONGEST: Limits = Limits {
    cpu: Duration::from_mins(5),
    time: Duration::from_mins(5),
};
/// Sizes of the first batches. The fastest tests run first; the last batch has all others.
const BATCHES: [usize; 2] = [8, 32];

/// One program and its tests, the fastest first.
#[derive(Debug)]
pub(crate) struct Suite {
    program: Program,
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

impl Suite {
    /// Runs each test of a program alone, to see what it reaches. A test that fails would catch every mutant.
    pub(crate) fn of_tests(program: Program, folder: &Path) -> Outcome<Suite> {
        let names = program.tests()?;
        let arguments: Vec<_> = names.into_iter().map(|name| vec![name]).collect();
        Suite::trace(program, &arguments, &["--exact"], folder)
    }

    /// A program that is one test.
    pub(crate) fn of_program(program: Program, arguments: &[&str], folder: &Path) -> Outcome<Suite> {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned());
        Suite::trace(program, &[arguments.collect()], &[], folder)
    }

    fn trace(
        program: Program,
        tests: &[Vec<String>],
        options: &'static [&'static str],
        folder: &Path,
    ) -> Outcome<Suite> {
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
        Ok(Suite {
            program,
            options,
            tests: traced,
        })
    }

    /// How a mutant is caught by the tests that reach its switch, if it is.
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
