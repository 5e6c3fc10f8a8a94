//! Room on the stack for deep expressions.

use std::panic::resume_unwind;
use std::thread;

/// Levels that fit on any stack.
const SHALLOW: usize = 24;
/// Enough for the deepest expressions that are allowed.
const LARGE: usize = 64 << 20;

/// Runs something that calls itself once for every level; where there are many, on a thread of its own.
///
/// # Panics
/// If `run` does, or if the system has no room for another thread.
pub(super) fn with_room<T: Send>(levels: usize, run: impl FnOnce() -> T + Send) -> T {
    if levels <= SHALLOW {
        return run();
    }
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(LARGE).spawn_scoped(scope, run);
        let thread = thread.unwrap_or_else(|why| panic!("cannot start a thread: {why}"));
        thread.join().unwrap_or_else(|payload| resume_unwind(payload))
    })
}

/// Returns how deep an expression may be, judged by its brackets and conditions alone.
pub(super) fn nesting(source: &str) -> usize {
    let (mut depth, mut deepest, mut conditions) = (0usize, 0, 0);
    for c in source.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '?' => conditions += 1,
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest + conditions
}
