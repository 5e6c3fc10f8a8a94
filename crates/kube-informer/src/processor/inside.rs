//! Which handler the current code runs in, so that it does not wait for itself.

tokio::task_local! {
    static INSIDE: Inside;
}

/// The handler that is called here, and its informer's processor.
#[derive(Clone, Copy)]
pub(super) struct Inside {
    pub(super) listener: u64,
    pub(super) processor: u64,
}

impl Inside {
    /// The handler that is running in this task, or was called by it.
    pub(super) fn current() -> Option<Inside> {
        INSIDE.try_with(|inside| *inside).ok()
    }

    /// Calls a handler.
    pub(super) fn sync<R>(self, call: impl FnOnce() -> R) -> R {
        INSIDE.sync_scope(self, call)
    }

    /// Awaits a handler's work.
    pub(super) fn scope<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        INSIDE.scope(self, work)
    }
}
