//! Applies a function to many items on all CPUs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::Outcome;

/// Applies a function to each item. The first error ends the work and is returned.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    function: impl Fn(usize, &T) -> Outcome<R> + Sync,
) -> Outcome<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result<R, String>)>> = Mutex::new(Vec::new());
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return;
            };
            // The error type of tasks cannot be sent to another thread.
            let result = function(at, item).map_err(|error| error.to_string());
            if result.is_err() {
                next.store(items.len(), Ordering::Relaxed);
            }
            if let Ok(mut results) = results.lock() {
                results.push((at, result));
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut results = results.into_inner().map_err(|error| error.to_string())?;
    results.sort_by_key(|(at, _)| *at);
    let results = results.into_iter().map(|(_, result)| Ok(result?));
    results.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() -> Outcome {
        let items: Vec<usize> = (0..100).collect();
        assert_eq!(map(&items, |at, item| Ok(at * item))?[9], 81);
        Ok(())
    }

    #[test]
    fn an_error_ends_the_work() {
        let tried = AtomicUsize::new(0);
        let failed = map(&[(); 1_000], |at, ()| {
            tried.fetch_add(1, Ordering::Relaxed);
            if at == 3 { Err("3".into()) } else { Ok(()) }
        });
        assert!(failed.is_err());
        assert!(tried.into_inner() < 1_000);
    }
}
