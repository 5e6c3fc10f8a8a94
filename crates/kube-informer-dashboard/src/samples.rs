//! Counters of the last minutes, for plots.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

/// Time that plots cover.
const SPAN: Duration = Duration::from_secs(5 * 60);

/// Maximum number of samples.
const MAX_SAMPLES: usize = 400;

/// Counters at one time, by name.
pub(super) struct Sample {
    pub(super) at: SystemTime,
    pub(super) counts: Map<String, Value>,
}

/// The samples of the last minutes, oldest first.
#[derive(Default)]
pub(super) struct Samples {
    all: VecDeque<Sample>,
}

impl Samples {
    pub(super) fn add(&mut self, sample: Sample) {
        let too_old = |old: &Sample| sample.at.duration_since(old.at).is_ok_and(|age| age > SPAN);
        while self.all.front().is_some_and(too_old) || self.all.len() >= MAX_SAMPLES {
            self.all.pop_front();
        }
        self.all.push_back(sample);
    }

    /// Returns the samples after a time.
    pub(super) fn since(&self, time: SystemTime) -> impl Iterator<Item = &Sample> {
        self.all.iter().filter(move |sample| sample.at > time)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{Sample, Samples};

    #[test]
    fn old_samples_are_dropped() {
        let begin = SystemTime::UNIX_EPOCH;
        let mut samples = Samples::default();
        let at = |second| begin + Duration::from_secs(second);
        for second in 1..=1_000 {
            let counts = serde_json::Map::new();
            samples.add(Sample {
                at: at(second),
                counts,
            });
        }
        assert_eq!(samples.since(begin).count(), 301);
        assert_eq!(samples.since(at(990)).count(), 10);
        for millis in 0..1_000 {
            let at = at(1_000) + Duration::from_millis(millis);
            samples.add(Sample {
                at,
                counts: serde_json::Map::new(),
            });
        }
        assert_eq!(samples.since(begin).count(), 400);
    }
}
