//! The stages a mutant is put through.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use super::detector::{Detector, Verdict};
use super::generated::Mutant;
use super::results::Status;
use super::tree::Tree;
use crate::Outcome;

/// The names of the stages.
pub(crate) const NAMES: [&str; 3] = ["unit tests", "simulator", "integration tests"];

/// Seeds that the simulator plays for a generated mutant: about 15 seconds without optimisation.
const SEEDS: u64 = 100;

/// The tests of informers on the embedded server.
const INFORMERS: &[&str] = &["a_", "b_", "c_", "d_", "e_", "f_", "faults_of_others"];

/// All detectors, with the time each takes without a bug.
#[derive(Default)]
pub(crate) struct Stages {
    baselines: HashMap<String, Duration>,
    /// Unit tests that caught mutants of a file, and how many. They probably catch the next one, too.
    effective: HashMap<String, HashMap<String, usize>>,
}

/// How many unit tests run before all others.
const FIRST: usize = 6;

impl Stages {
    /// Runs the stages that are not `done` yet, until one of them finds the mutant.
    pub(crate) fn test(
        &mut self,
        tree: &Tree,
        mutant: &Mutant,
        done: usize,
        until: usize,
    ) -> Outcome<(Status, Duration)> {
        let source = tree.read(&mutant.file)?;
        let began = Instant::now();
        let status = self.run_stages(tree, mutant, &source, done..until);
        tree.write(&mutant.file, &source)?;
        let status = status?;
        self.record(&mutant.file, &status);
        Ok((status, began.elapsed()))
    }

    fn run_stages(
        &mut self,
        tree: &Tree,
        mutant: &Mutant,
        source: &str,
        stages: Range<usize>,
    ) -> Outcome<Status> {
        let planted = mutant.planted_in(source)?;
        for (stage, detectors) in &self.stages(mutant)[stages.clone()] {
            for detector in detectors {
                let baseline = if let Some(baseline) = self.baselines.get(&detector.shown()) {
                    *baseline
                } else {
                    tree.write(&mutant.file, source)?;
                    self.baseline(tree, detector)?
                };
                tree.write(&mutant.file, &planted)?;
                match detector.detect(tree, baseline)? {
                    Verdict::Found(how) => {
                        return Ok(Status::Caught {
                            stage: (*stage).to_owned(),
                            how,
                        });
                    }
                    Verdict::Unviable(_) => return Ok(Status::Unviable),
                    Verdict::NotFound => {}
                }
            }
        }
        Ok(Status::Missed { stages: stages.end })
    }

    /// How long a detector takes without a bug. A detector that fails then would find everything.
    fn baseline(&mut self, tree: &Tree, detector: &Detector) -> Outcome<Duration> {
        let shown = detector.shown();
        eprintln!("without a bug: {shown}");
        let took = detector.baseline(tree)?;
        eprintln!("passes in {:.1} s", took.as_secs_f64());
        self.baselines.insert(shown, took);
        Ok(took)
    }

    /// The stages for a mutant and their detectors, the fastest first.
    fn stages(&self, mutant: &Mutant) -> [(&'static str, Vec<Detector>); 3] {
        let [unit, simulator, integration] = NAMES;
        let package = mutant.package.as_str();
        let module: Vec<&str> = mutant.module().collect();
        let unit = (
            unit,
            vec![Detector::unit_tests(
                package,
                &module,
                &self.effective(&mutant.file),
            )],
        );
        let simulator = (simulator, vec![Detector::simulator(SEEDS, &[])]);
        if package == "kube-workqueue" {
            let tests =
                ["queue", "model"].map(|test| Detector::tests(&["--package", package, "--test", test], &[]));
            return [unit, (integration, tests.to_vec()), simulator];
        }
        let tests = vec![
            Detector::tests(
                &["--package", package, "--test", "pipeline", "--test", "client"],
                &[],
            ),
            Detector::tests(&["--package", package, "--test", "model"], &[]),
            Detector::tests(
                &["--package", "mission", "--test", "mission", "--test", "embedded"],
                INFORMERS,
            ),
        ];
        [unit, simulator, (integration, tests)]
    }

    /// Notes which unit test caught a mutant of a file.
    pub(crate) fn record(&mut self, file: &str, status: &Status) {
        if let Status::Caught { stage, how } = status
            && *stage == NAMES[0]
            && let Some(test) = how.strip_prefix("test ")
        {
            let tests = self.effective.entry(file.to_owned()).or_default();
            *tests.entry(test.to_owned()).or_default() += 1;
        }
    }

    /// The unit tests that caught most mutants of a file.
    fn effective(&self, file: &str) -> Vec<&str> {
        let tests = self.effective.get(file).into_iter().flatten();
        let mut tests: Vec<_> = tests
            .map(|(test, count)| (Reverse(*count), test.as_str()))
            .collect();
        tests.sort_unstable();
        tests.into_iter().take(FIRST).map(|(_, test)| test).collect()
    }
}
