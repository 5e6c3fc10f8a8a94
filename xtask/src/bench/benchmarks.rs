//! What is compared with what.

use crate::Outcome;

/// Some who are compared, and how.
pub(super) struct Benchmark {
    /// Also of the program in Go.
    pub(super) name: &'static str,
    pub(super) ours: Subject,
    pub(super) peers: &'static [Subject],
    runs: &'static [Run],
}

/// A scenario, once.
pub(super) struct Run {
    pub(super) scenario: &'static str,
    /// The program in Rust.
    pub(super) program: &'static str,
    /// How much of it; may be empty.
    pub(super) flag: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    KubeInformer,
    KubeWorkqueue,
    ClientGo,
    KubeRuntime,
}

pub(super) const PIPELINE: Benchmark = Benchmark {
    name: "pipeline",
    ours: Subject::KubeInformer,
    peers: &[Subject::ClientGo, Subject::KubeRuntime],
    runs: &[
        Run::new("events", "pipeline", "--handlers=1"),
        Run::new("events", "pipeline", "--handlers=10"),
        Run::new("events", "pipeline", "--handlers=100"),
        Run::new("reads", "pipeline", ""),
        Run::new("pauses", "pipeline", ""),
        Run::new("joins", "pipeline", ""),
        Run::new("memory", "pipeline_memory", ""),
    ],
};

pub(super) const QUEUE: Benchmark = Benchmark {
    name: "queue",
    ours: Subject::KubeWorkqueue,
    peers: &[Subject::ClientGo],
    runs: &[
        Run::new("cycles", "queue", "--workers=1"),
        Run::new("cycles", "queue", "--workers=8"),
        Run::new("delays", "queue", ""),
        Run::new("limits", "queue", ""),
        Run::new("memory", "queue_memory", ""),
    ],
};

impl Benchmark {
    pub(super) fn subjects(&self) -> impl Iterator<Item = Subject> {
        std::iter::once(self.ours).chain(self.peers.iter().copied())
    }

    /// The runs of some scenarios; of all if none is named.
    pub(super) fn runs_of(&self, only: &[String]) -> Outcome<Vec<&Run>> {
        for name in only {
            if !self.runs.iter().any(|run| run.scenario == name) {
                let mut known: Vec<_> = self.runs.iter().map(|run| run.scenario).collect();
                known.dedup();
                return Err(format!("there is no scenario {name}, but {}", known.join(", ")).into());
            }
        }
        let is_wanted = |run: &&Run| only.is_empty() || only.iter().any(|name| name == run.scenario);
        Ok(self.runs.iter().filter(is_wanted).collect())
    }
}

impl Run {
    const fn new(scenario: &'static str, program: &'static str, flag: &'static str) -> Run {
        Run {
            scenario,
            program,
            flag,
        }
    }
}

impl Subject {
    pub(super) fn name(self) -> &'static str {
        match self {
            Subject::KubeInformer => "kube-informer",
            Subject::KubeWorkqueue => "kube-workqueue",
            Subject::ClientGo => "client-go",
            Subject::KubeRuntime => "kube-runtime",
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
            "there is no scenario events, but cycles, delays, limits, memory"
        );
    }
}
