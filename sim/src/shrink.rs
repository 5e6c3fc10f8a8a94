//! The shortest plan that still fails.

use kube_informer::planted::Bug;

use crate::plan::Plan;
use crate::world::play;

/// How often a plan is played to make it shorter.
const PATIENCE: usize = 600;

/// Leaves out what a failure does not need: steps, and settings. The same line of the contract has to fail.
#[must_use]
pub fn shrink(plan: &Plan, bug: Option<Bug>) -> Plan {
    let Some(violation) = play(plan, bug, false).violation else {
        return plan.clone();
    };
    let mut left = PATIENCE;
    let mut fails = |plan: &Plan| {
        left = left.saturating_sub(1);
        left > 0
            && play(plan, bug, false)
                .violation
                .is_some_and(|found| found.contract == violation.contract)
    };
    let mut shortest = plan.clone();
    let mut size = shortest.steps.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        let mut is_shorter = false;
        while at < shortest.steps.len() {
            let mut shorter = shortest.clone();
            let end = (at + size).min(shorter.steps.len());
            shorter.steps.drain(at..end);
            if fails(&shorter) {
                shortest = shorter;
                is_shorter = true;
            } else {
                at += size;
            }
        }
        if size == 1 && !is_shorter {
            return shortest;
        }
        if !is_shorter {
            size = size.div_ceil(2);
        }
    }
}
