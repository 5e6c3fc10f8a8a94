//! Samples of every second, and their evaluation.

use std::time::Duration;

use crate::Outcome;

/// A sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) at: Duration,
    /// Bytes in use.
    pub(super) live: f64,
    /// Resident memory of the process, in bytes.
    pub(super) resident: f64,
    pub(super) tasks: usize,
    /// Number of pending changes and items.
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

/// Number of samples that are printed.
const PRINTED: f64 = 20.0;
/// Fraction of the run that is warm-up.
const WARM_UP: f64 = 0.25;
/// Minimum number of samples.
const FEWEST: usize = 20;
/// Allowed growth as a fraction of the memory in use, and in bytes for small amounts.
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

    /// Checks that nothing has grown since the warm-up.
    pub(super) fn verdict(&self) -> Result<(), String> {
        let warm = self.whole.mul_f64(WARM_UP);
        let samples: Vec<Sample> = self
            .samples
            .iter()
            .copied()
            .filter(|sample| sample.at >= warm)
            .collect();
        let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
            return Err("no samples after the warm-up".to_owned());
        };
        if samples.len() < FEWEST {
            return Err("the run was too short: expected at least 30 seconds".to_owned());
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
            return Err(format!("memory in use grows by {slope:.0} bytes per second"));
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
        println!("minimum number of tasks: {early} in the first half, {late} in the second");
        if late > early {
            return Err(format!("the number of tasks grows: {late}, after {early} before"));
        }
        Ok(())
    }
}

/// Returns bytes per second: the median of the slopes between all pairs of samples, so that outliers do not
/// count more than other samples.
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

/// Returns the resident memory of the process, from Linux.
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
    fn fluctuations_are_not_growth() {
        let warm_up = |second: u32| f64::from(second.min(90)) * MIB;
        let breath = |second: u32| f64::from(second % 7) * MIB;
        run(
            |second| warm_up(second) + breath(second),
            |second| 40 + second as usize % 5,
        )
        .expect("no growth");
    }

    #[test]
    fn a_leak_of_a_hundred_bytes_per_change_is_detected() {
        let growth = |second: u32| 30.0 * MIB + f64::from(second) * 20_000.0 + f64::from(second % 7) * MIB;
        let words = run(growth, |_| 40).expect_err("growth");
        assert!(words.contains("memory in use grows"), "{words}");
    }

    #[test]
    fn leaked_tasks_are_detected() {
        let words = run(|_| 30.0 * MIB, |second| 40 + second as usize / 60).expect_err("growth");
        assert!(words.contains("tasks"), "{words}");
    }
}
