//! The stages of testing a mutant.

use std::path::Path;
use std::time::Duration;

use super::detector::{Detection, Detector};
use super::generated::Mutant;
use super::program;
use super::results::Status;
use super::suite::TracedSuite;
use super::tree::Tree;
use crate::Outcome;

/// The names of the stages.
pub(crate) const NAMES: [&str; 3] = ["unit tests", "simulator", "integration tests"];

/// Arguments of the simulator for each mutant: a run of a few seconds.
const SIMULATOR: &[&str] = &["--no-shrink", "--seeds", "200"];

/// Number of seeds without optimisation.
const SEEDS_ALONE: u64 = 100;

/// Usual duration of a detector.
const USUAL: Duration = Duration::from_mins(1);

const UNIT_TESTS: &[&str] = &[
    "--package",
    "kube-informer",
    "--package",
    "kube-workqueue",
    "--features",
    "kube-informer/zstd",
    "--lib",
];

const INTEGRATION_TESTS: &[&str] = &[
    "--package",
    "kube-informer",
    "--package",
    "kube-workqueue",
    "--package",
    "conformance",
    "--test",
    "pipeline",
    "--test",
    "client",
    "--test",
    "model",
    "--test",
    "queue",
    "--test",
    "conformance",
    "--test",
    "embedded",
];

/// Tests a mutant that cannot be built together with others.
pub(crate) fn test_alone(tree: &Tree, mutant: &Mutant, until: usize) -> Outcome<Status> {
    let source = tree.read(&mutant.file)?;
    tree.write(&mutant.file, &mutant.planted_in(&source)?)?;
    let status = detect(tree, mutant, until);
    tree.write(&mutant.file, &source)?;
    status
}

fn detect(tree: &Tree, mutant: &Mutant, until: usize) -> Outcome<Status> {
    let module: Vec<&str> = mutant.module().collect();
    let detectors = [
        Detector::unit_tests(&mutant.package, &module),
        Detector::simulator(SEEDS_ALONE, &[]),
        Detector::tests(INTEGRATION_TESTS, &[]),
    ];
    for (stage, detector) in NAMES.into_iter().zip(detectors).take(until) {
        match detector.detect(tree, USUAL)? {
            Detection::Found(how) => {
                return Ok(Status::Caught {
                    stage: stage.to_owned(),
                    how,
                });
            }
            Detection::Unviable(_) => return Ok(Status::Unviable),
            Detection::NotFound => {}
        }
    }
    Ok(Status::Missed { stages: until })
}

/// Builds the programs of a stage and determines which mutants each test reaches.
pub(crate) fn suites(name: &str, tree: &Tree, traces: &Path) -> Outcome<Vec<TracedSuite>> {
    let [unit, simulator, _] = NAMES;
    let build = |arguments: &[&str], is_test| {
        program::build(tree, arguments, is_test)?
            .map_err(|error| format!("the tree with all mutants does not compile\n{error}").into())
    };
    if name == simulator {
        let programs: Outcome<Vec<_>> = build(&["--package", "sim", "--release"], false);
        let suites = programs?
            .into_iter()
            .map(|program| TracedSuite::of_program(program, SIMULATOR, traces));
        return suites.collect();
    }
    let tests = if name == unit {
        UNIT_TESTS
    } else {
        INTEGRATION_TESTS
    };
    let suites = build(tests, true)?
        .into_iter()
        .map(|program| TracedSuite::of_tests(program, traces));
    suites.collect()
}
