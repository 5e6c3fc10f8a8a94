//! How much is allocated.
//!
//! What a hostile server sends is long or short, and what is made of it may be larger, but by no more than a factor. The
//! allocator counts for the whole process, so the bounds are checked only where somebody has said that nothing else runs:
//! in libFuzzer, and in a test that is alone in its program.

use std::alloc::System;
use std::sync::atomic::{AtomicBool, Ordering};

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// Checks bounds from now on.
pub fn watch() {
    IS_WATCHED.store(true, Ordering::Relaxed);
}

/// What may be allocated: so many bytes anyhow, and so many for each byte of the input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) base: usize,
    pub(crate) per_byte: usize,
}

impl Bound {
    /// Does something with an input of a length.
    ///
    /// # Panics
    /// All allocations on the way together, also those that were freed again, are over the bound.
    #[track_caller]
    pub(crate) fn keep<T>(self, input: usize, work: impl FnOnce() -> T) -> T {
        let region = Region::new(ALLOCATOR);
        let done = work();
        let allocated = region.change().bytes_allocated;
        let most = self.base + self.per_byte * input;
        assert!(
            !IS_WATCHED.load(Ordering::Relaxed) || allocated <= most,
            "{allocated} bytes were allocated for {input} bytes of input, over {most}"
        );
        done
    }
}
