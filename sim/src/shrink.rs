//! Finds a shorter plan that still fails.

use crate::plan::Plan;
use crate::run::play;

/// Maximum number of runs to shorten a plan.
const PLAYS: usize = 600;

/// Removes steps and settings that are not necessary for the failure. The violated line of the contract must
/// remain the same.
#[must_use]
pub fn shrink(plan: &Plan) -> Plan {
    let Some(finding) = play(plan, false).finding else {
        return plan.clone();
    };
    let mut left = PLAYS;
    let mut fails = |plan: &Plan| {
        left = left.saturating_sub(1);
        left > 0
            && play(plan, false)
                .finding
                .is_some_and(|found| found.contract == finding.contract)
    };
    let mut shortest = plan.clone();
    let mut size = shortest.steps.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        let mut is_shorter = false;
        while at < shortest.steps.len() {
            let end = (at + size).min(shortest.steps.len());
            let shorter = shortest.without_steps(at..end);
            if fails(&shorter) {
                shortest = shorter;
                is_shorter = true;
            } else {
                at += size;
            }
        }
        if size == 1 && !is_shorter {
            break;
        }
        if !is_shorter {
            size = size.div_ceil(2);
        }
    }
    while let Some(simpler) = shortest.simpler().into_iter().find(&mut fails) {
        shortest = simpler;
    }
    shortest
}
