//! The size of an item without its key.

use std::sync::Arc;

use kube_workqueue::WorkQueue;

use super::delays::queue;
use super::{COPIED, Key, QueueSize, keys};
use crate::report::Report;

/// Tables grow in steps, so the load factor matters: the result is the mean of these load factors, in
/// sixteenths.
const LEVELS: [usize; 4] = [10, 12, 14, 16];

/// Measures in a program that counts allocations.
pub fn memory(report: Report, size: QueueSize, allocated: impl Fn() -> f64) {
    of_keys::<Arc<str>>(report, size, "", &allocated);
    of_keys::<String>(report, size, COPIED, &allocated);
}

fn of_keys<T: Key>(report: Report, size: QueueSize, manner: &str, allocated: &impl Fn() -> f64) {
    let (keys, delays) = (keys::keys::<T>(size.items()), keys::delays(size.items()));
    let each = |measure: &str, add: &dyn Fn(&WorkQueue<T>, usize)| {
        let levels = LEVELS.map(|level| {
            let count = keys.len() * level / 16;
            let before = allocated();
            let queue = queue();
            for at in 0..count {
                add(&queue, at);
            }
            (allocated() - before) / count as f64
        });
        let mean = levels.iter().sum::<f64>() / levels.len() as f64;
        report.figure_against(&format!("{measure}{manner}"), measure, "bytes", mean);
    };
    each("memory of a queued item", &|queue, at| {
        queue.add(keys[at].clone());
    });
    each("memory of a delayed item", &|queue, at| {
        queue.add_after(keys[at].clone(), delays[at]);
    });
    each("memory of a rate-limited item", &|queue, at| {
        queue.add_rate_limited(keys[at].clone());
    });
}
