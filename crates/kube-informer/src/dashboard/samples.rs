//! How the counts were in the last minutes, for plots.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

/// How far back plots go.
pub(super) const SPAN: Duration = Duration::from_secs(5 * 60);

/// No more are kept, however often it is looked.
const MOST: usize = 400;

/// Counts at one moment, by the name of what was counted.
pub(super) struct Sample {
    pub(super) at: SystemTime,
    pub(super) counts: Map<String, Value>,
}

/// The samples of the last minutes, the oldest first.
#[derive(Default)]
pub(super) struct Samples {
    all: VecDeque<Sample>,
}

impl Samples {
    pub(super) fn add(&mut self, sample: Sample) {
        let too_old = |old: &Sample| sample.at.duration_since(old.at).is_ok_and(|age| age > SPAN);
        while self.all.front().is_some_and(too_old) || self.all.len() >= MOST {
            self.all.pop_front();
        }
        self.all.push_back(sample);
    }

    /// Those that came after a moment.
    pub(super) fn since(&self, moment: SystemTime) -> impl Iterator<Item = &Sample> {
        self.all.iter().filter(move |sample| sample.at > moment)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{Sample, Samples};

    #[test]
    fn only_the_last_minutes_are_kept() {
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
