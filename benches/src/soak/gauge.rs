//! What is looked at every second, and what it says in the end.

use std::time::Duration;

use crate::Outcome;

/// How things are at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) at: Duration,
    /// Bytes in use.
    pub(super) live: f64,
    /// Bytes that the process has of the system.
    pub(super) resident: f64,
    pub(super) tasks: usize,
    /// Changes and items that wait somewhere.
    pub(super) waiting: usize,
}

impl Sample {
    pub(super) const HEADS: &str = "   time   live MiB  resident MiB  tasks  waiting";
}

impl std::fmt::Display for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.at.as_secs();
        let mib = |bytes: f64| bytes / f64::from(1 << 20);
        write!(
            f,
            "{:>6}s  {:>9.2}  {:>12.1}  {:>5}  {:>7}",
            seconds,
            mib(self.live),
            mib(self.resident),
            self.tasks,
            self.waiting
        )
    }
}

/// All samples of a run.
#[derive(Debug)]
pub(super) struct Gauge {
    whole: Duration,
    samples: Vec<Sample>,
}

/// How often a sample is printed.
const PRINTED: f64 = 20.0;
/// How much of the run is warm-up.
const WARM_UP: f64 = 0.25;
/// Fewer samples say nothing.
const FEWEST: usize = 20;
/// How much of what is in use it may be that is more in the end, and how much in bytes where that is little.
const ALLOWED_PART: f64 = 0.01;
const ALLOWED_BYTES: f64 = 256.0 * 1024.0;

impl Gauge {
    pub(super) fn new(whole: Duration) -> Gauge {
        Gauge {
            whole,
            samples: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, sample: Sample) {
        let part = |at: Duration| (at.as_secs_f64() / self.whole.as_secs_f64() * PRINTED).floor();
        if self
            .samples
            .last()
            .is_none_or(|last| part(last.at) < part(sample.at))
        {
            println!("{sample}");
        }
        self.samples.push(sample);
    }

    /// Whether nothing has grown since the warm-up.
    pub(super) fn verdict(&self) -> Result<(), String> {
        let warm = self.whole.mul_f64(WARM_UP);
        let samples: Vec<Sample> = self
            .samples
            .iter()
            .copied()
            .filter(|sample| sample.at >= warm)
            .collect();
        let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
            return Err("nothing was measured".to_owned());
        };
        if samples.len() < FEWEST {
            return Err("it was too short to say anything; give it 30 seconds at least".to_owned());
        }
        let slope = slope(&samples);
        let grown = slope * (last.at.as_secs_f64() - first.at.as_secs_f64());
        let in_use = median(samples.iter().map(|sample| sample.live).collect());
        let allowed = in_use * ALLOWED_PART + ALLOWED_BYTES;
        println!(
            "live bytes: {:.0} KiB, {:+.0} KiB since the warm-up ({:+.2} MiB an hour), {:.0} KiB allowed",
            in_use / 1024.0,
            grown / 1024.0,
            slope * 3_600.0 / f64::from(1 << 20),
            allowed / 1024.0
        );
        if grown > allowed {
            return Err(format!("what is in use grows by {slope:.0} bytes a second"));
        }
        let fewest = |samples: &[Sample]| {
            samples
                .iter()
                .map(|sample| sample.tasks)
                .min()
                .unwrap_or_default()
        };
        let (early, late) = samples.split_at(samples.len() / 2);
        let (early, late) = (fewest(early), fewest(late));
        println!("tasks: {early} at least in the first half, {late} in the second");
        if late > early {
            return Err(format!("there are {late} tasks at least, and {early} before"));
        }
        Ok(())
    }
}

/// Bytes a second: the median of the slopes between all pairs of samples, so that the moments in which much is under way
/// do not count more than others.
fn slope(samples: &[Sample]) -> f64 {
    let mut slopes = Vec::new();
    for (at, one) in samples.iter().enumerate() {
        for other in &samples[at + 1..] {
            let seconds = other.at.as_secs_f64() - one.at.as_secs_f64();
            if seconds > 0.0 {
                slopes.push((other.live - one.live) / seconds);
            }
        }
    }
    median(slopes)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// What the process has of the system, as Linux tells it.
pub(super) fn resident() -> Outcome<f64> {
    let pages = std::fs::read_to_string("/proc/self/statm")?;
    let pages: f64 = pages
        .split(' ')
        .nth(1)
        .ok_or("no second number in statm")?
        .parse()?;
    Ok(pages * rustix::param::page_size() as f64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Gauge, Sample};

    fn run(live: impl Fn(u32) -> f64, tasks: impl Fn(u32) -> usize) -> Result<(), String> {
        let mut gauge = Gauge::new(Duration::from_secs(400));
        for second in 0..400 {
            gauge.add(Sample {
                at: Duration::from_secs(second.into()),
                live: live(second),
                resident: 0.0,
                tasks: tasks(second),
                waiting: 0,
            });
        }
        gauge.verdict()
    }

    const MIB: f64 = 1_048_576.0;

    #[test]
    fn ups_and_downs_are_no_growth() {
        let warm_up = |second: u32| f64::from(second.min(90)) * MIB;
        let breath = |second: u32| f64::from(second % 7) * MIB;
        run(
            |second| warm_up(second) + breath(second),
            |second| 40 + second as usize % 5,
        )
        .expect("it is flat");
    }

    #[test]
    fn a_hundred_bytes_with_each_of_two_hundred_changes_a_second_are_seen() {
        let growth = |second: u32| 30.0 * MIB + f64::from(second) * 20_000.0 + f64::from(second % 7) * MIB;
        let words = run(growth, |_| 40).expect_err("it grows");
        assert!(words.contains("what is in use grows"), "{words}");
    }

    #[test]
    fn tasks_that_stay_are_seen() {
        let words = run(|_| 30.0 * MIB, |second| 40 + second as usize / 60).expect_err("they grow");
        assert!(words.contains("tasks"), "{words}");
    }
}
