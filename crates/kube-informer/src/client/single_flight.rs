//! State that many requests share, and at most one attempt at a time to extend it. `tests/model` checks it under all
//! interleavings of threads.

use std::sync::Arc;

use crate::util::sync::{CancellationToken, Mutex};

/// State that many requests share, with at most one attempt to extend it. `R` is the outcome of an attempt.
pub(super) struct SingleFlight<S, R> {
    shared: Mutex<FlightState<S, R>>,
}

struct FlightState<S, R> {
    state: S,
    attempt: Option<Arc<Attempt<R>>>,
}

/// An attempt that requests wait for.
struct Attempt<R> {
    outcome: Mutex<Option<R>>,
    ended: CancellationToken,
}

/// Owned by the task that makes the attempt. If it is dropped without an outcome, for example with its runtime, the attempt
/// is cancelled and the next request starts another.
pub(super) struct AttemptGuard<S, R> {
    flight: Arc<SingleFlight<S, R>>,
    attempt: Arc<Attempt<R>>,
}

/// The result of [`SingleFlight::find_or_wait`].
pub(super) enum FindResult<T, R> {
    /// `find` found it in the state.
    Found(T),
    /// The request waited for an attempt with this outcome.
    Waited(R),
}

/// The attempt was dropped without an outcome.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AttemptCancelled;

enum Role<T, S, R> {
    Found(T),
    Waiter(Arc<Attempt<R>>),
    Leader(AttemptGuard<S, R>),
}

impl<S, R: Clone> SingleFlight<S, R> {
    pub(super) fn new(state: S) -> SingleFlight<S, R> {
        let shared = FlightState { state, attempt: None };
        SingleFlight {
            shared: Mutex::new(shared),
        }
    }

    /// Reads or changes the state.
    pub(super) fn with<T>(&self, with: impl FnOnce(&mut S) -> T) -> T {
        with(&mut self.shared.lock().state)
    }

    /// Returns what `find` finds. If it finds nothing, waits for the attempt in progress, or starts one with `begin` and waits
    /// for it.
    ///
    /// # Errors
    /// Returns [`AttemptCancelled`] if the attempt that this call started was cancelled. A call that waited for the attempt of
    /// another call starts its own instead.
    ///
    /// # Cancel safety
    /// The attempt continues if the future is dropped.
    pub(super) async fn find_or_wait<T>(
        self: &Arc<Self>,
        find: impl Fn(&mut S) -> Option<T>,
        begin: impl Fn(AttemptGuard<S, R>),
    ) -> Result<FindResult<T, R>, AttemptCancelled> {
        loop {
            match self.role(&find) {
                Role::Found(found) => return Ok(FindResult::Found(found)),
                Role::Waiter(attempt) => {
                    if let Some(outcome) = attempt.outcome().await {
                        return Ok(FindResult::Waited(outcome));
                    }
                }
                Role::Leader(guard) => {
                    let attempt = Arc::clone(&guard.attempt);
                    begin(guard);
                    let outcome = attempt.outcome().await;
                    return outcome.map(FindResult::Waited).ok_or(AttemptCancelled);
                }
            }
        }
    }

    fn role<T>(self: &Arc<Self>, find: impl FnOnce(&mut S) -> Option<T>) -> Role<T, S, R> {
        let mut shared = self.shared.lock();
        if let Some(found) = find(&mut shared.state) {
            return Role::Found(found);
        }
        if let Some(attempt) = &shared.attempt {
            return Role::Waiter(Arc::clone(attempt));
        }
        let attempt = Arc::new(Attempt {
            outcome: Mutex::new(None),
            ended: CancellationToken::new(),
        });
        shared.attempt = Some(Arc::clone(&attempt));
        Role::Leader(AttemptGuard {
            flight: Arc::clone(self),
            attempt,
        })
    }
}

impl<R: Clone> Attempt<R> {
    /// Waits for the end of the attempt. Returns none if it was cancelled.
    async fn outcome(&self) -> Option<R> {
        self.ended.cancelled().await;
        self.outcome.lock().clone()
    }
}

impl<S, R: Clone> AttemptGuard<S, R> {
    /// Ends the attempt: changes the state, and gives the outcome to all waiting requests.
    pub(super) fn finish(self, end: impl FnOnce(&mut S) -> R) {
        let mut shared = self.flight.shared.lock();
        let outcome = end(&mut shared.state);
        *self.attempt.outcome.lock() = Some(outcome);
        // In the same step as the change of the state, so that a request that does not find it there makes a new attempt.
        shared.attempt = None;
    }
}

impl<S, R> Drop for AttemptGuard<S, R> {
    fn drop(&mut self) {
        {
            let mut shared = self.flight.shared.lock();
            // Another attempt may be in progress after `finish`.
            if shared
                .attempt
                .as_ref()
                .is_some_and(|attempt| Arc::ptr_eq(attempt, &self.attempt))
            {
                shared.attempt = None;
            }
        }
        self.attempt.ended.cancel();
    }
}
