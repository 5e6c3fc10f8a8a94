//! The benchmarks, and the implementations they compare.

use crate::Outcome;

/// A benchmark of several implementations.
pub(super) struct Benchmark {
    /// Name of the benchmark, and of its program in Go.
    pub(super) name: &'static str,
    pub(super) ours: Implementation,
    pub(super) peers: &'static [Implementation],
    runs: &'static [ScenarioRun],
}

/// One run of a scenario.
pub(super) struct ScenarioRun {
    pub(super) scenario: &'static str,
    /// The program in Rust.
    pub(super) program: &'static str,
    /// Flag that selects a variant; may be empty.
    pub(super) flag: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Implementation {
    KubeInformer,
    KubeWorkqueue,
    ClientGo,
    KubeRuntime,
}

pub(super) const PIPELINE: Benchmark = Benchmark {
    name: "pipeline",
    ours: Implementation::KubeInformer,
    peers: &[Implementation::ClientGo, Implementation::KubeRuntime],
    runs: &[
        ScenarioRun::new("events", "pipeline", "--handlers=1"),
        ScenarioRun::new("events", "pipeline", "--handlers=10"),
        ScenarioRun::new("events", "pipeline", "--handlers=100"),
        ScenarioRun::new("reads", "pipeline", ""),
        ScenarioRun::new("pauses", "pipeline", ""),
        ScenarioRun::new("joins", "pipeline", ""),
        ScenarioRun::new("memory", "pipeline_memory", ""),
    ],
};

pub(super) const QUEUE: Benchmark = Benchmark {
    name: "queue",
    ours: Implementation::KubeWorkqueue,
    peers: &[Implementation::ClientGo],
    runs: &[
        ScenarioRun::new("cycles", "queue", "--workers=1"),
        ScenarioRun::new("cycles", "queue", "--workers=8"),
        ScenarioRun::new("delays", "queue", ""),
        ScenarioRun::new("limits", "queue", ""),
        ScenarioRun::new("memory", "queue_memory", ""),
    ],
};

impl Benchmark {
    pub(super) fn subjects(&self) -> impl Iterator<Item = Implementation> {
        std::iter::once(self.ours).chain(self.peers.iter().copied())
    }

    /// Returns the runs of the named scenarios, or of all if none is named.
    pub(super) fn runs_of(&self, only: &[String]) -> Outcome<Vec<&ScenarioRun>> {
        for name in only {
            if !self.runs.iter().any(|run| run.scenario == name) {
                let mut known: Vec<_> = self.runs.iter().map(|run| run.scenario).collect();
                known.dedup();
                return Err(
                    format!("unknown scenario {name:?}: expected one of {}", known.join(", ")).into(),
                );
            }
        }
        let is_wanted = |run: &&ScenarioRun| only.is_empty() || only.iter().any(|name| name == run.scenario);
        Ok(self.runs.iter().filter(is_wanted).collect())
    }
}

impl ScenarioRun {
    const fn new(scenario: &'static str, program: &'static str, flag: &'static str) -> ScenarioRun {
        ScenarioRun {
            scenario,
            program,
            flag,
        }
    }
}

impl Implementation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Implementation::KubeInformer => "kube-informer",
            Implementation::KubeWorkqueue => "kube-workqueue",
            Implementation::ClientGo => "client-go",
            Implementation::KubeRuntime => "kube-runtime",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_chosen_by_name() {
        let flags = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(ToString::to_string).collect();
            let runs = QUEUE.runs_of(&only).map_err(|error| error.to_string())?;
            Ok::<_, String>(runs.iter().map(|run| run.flag).collect::<Vec<_>>())
        };
        assert_eq!(flags(&["cycles"]).unwrap(), ["--workers=1", "--workers=8"]);
        assert_eq!(flags(&[]).unwrap().len(), 5);
        assert_eq!(
            flags(&["events"]).unwrap_err(),
            "unknown scenario \"events\": expected one of cycles, delays, limits, memory"
        );
    }
}
