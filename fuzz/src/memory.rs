//! Bounds of allocations.
//!
//! The result of decoding a hostile response may be larger than the response, but only by a constant factor.
//! The allocator counts for the whole process, so the bounds are checked only after [`watch`] was called,
//! when nothing else runs: in libFuzzer, and in a test that is alone in its program.

use std::alloc::System;
use std::sync::atomic::{AtomicBool, Ordering};

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// Starts checking bounds.
pub fn watch() {
    IS_WATCHED.store(true, Ordering::Relaxed);
}

/// The maximum of allocations: a constant number of bytes, and a factor of the input's length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) base: usize,
    pub(crate) per_byte: usize,
}

impl Bound {
    /// Runs a function for an input of the given length.
    ///
    /// # Panics
    /// If all allocations together, including those that were freed, exceed the bound.
    #[track_caller]
    pub(crate) fn keep<T>(self, input: usize, work: impl FnOnce() -> T) -> T {
        let region = Region::new(ALLOCATOR);
        let done = work();
        let allocated = region.change().bytes_allocated;
        let most = self.base + self.per_byte * input;
        assert!(
            !IS_WATCHED.load(Ordering::Relaxed) || allocated <= most,
            "{allocated} bytes were allocated for {input} bytes of input, more than {most}"
        );
        done
    }
}
