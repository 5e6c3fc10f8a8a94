//! The simulator finds bugs. All of them, with the number of seeds they take: `cargo xtask sim --planted`.

use kube_informer::planted::Bug;
use sim::{Plan, play};

/// The contract's line that fails, in the first of so many seeds that does.
fn found(bug: Option<Bug>, seeds: u64) -> Option<u8> {
    let failed = (1..=seeds).find_map(|seed| play(&Plan::draw(seed), bug, false).violation);
    failed.map(|violation| violation.contract)
}

#[test]
fn an_event_that_is_dropped_is_found() {
    assert_eq!(found(Some(Bug::DropEvent), 10), Some(1));
}

#[test]
fn a_change_that_is_told_twice_is_found() {
    assert_eq!(found(Some(Bug::TellTwice), 20), Some(3));
}

#[test]
fn a_handler_that_is_told_before_the_store_is_found() {
    assert_eq!(found(Some(Bug::NotifyBeforeStore), 10), Some(4));
}

#[test]
fn a_deletion_that_no_work_comes_of_is_found() {
    assert_eq!(found(Some(Bug::ForgetToEnqueueDeleted), 20), Some(5));
}

#[test]
fn a_task_that_is_left_behind_is_found() {
    assert_eq!(found(Some(Bug::LeaveTaskBehind), 5), Some(11));
}

#[test]
fn without_a_bug_nothing_is_found() {
    assert_eq!(found(None, 40), None);
}
