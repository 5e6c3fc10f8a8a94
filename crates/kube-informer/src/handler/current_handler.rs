//! Tracks which handler the current code runs in, so that handlers do not wait for themselves or for each
//! other.

use parking_lot::Mutex;

tokio::task_local! {
    static CURRENT_HANDLER: CurrentHandler;
}

/// Waits of handlers that are in progress, in all informers of the process.
static ACTIVE_WAITS: Mutex<Vec<ActiveWait>> = Mutex::new(Vec::new());

/// The handler that is being called, and the processor of its informer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CurrentHandler {
    pub(crate) listener: u64,
    pub(crate) processor: u64,
}

/// The end of one handler, or of all handlers of an informer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitTarget {
    Listener(u64),
    Processor(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ActiveWait {
    by: CurrentHandler,
    end: WaitTarget,
}

impl CurrentHandler {
    /// Returns the handler that runs in this task.
    fn current() -> Option<CurrentHandler> {
        CURRENT_HANDLER.try_with(|handler| *handler).ok()
    }

    /// Calls a handler.
    pub(crate) fn sync<R>(self, call: impl FnOnce() -> R) -> R {
        CURRENT_HANDLER.sync_scope(self, call)
    }

    /// Awaits an asynchronous handler.
    pub(crate) fn scope<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        CURRENT_HANDLER.scope(self, work)
    }

    fn ends(self, end: WaitTarget) -> bool {
        match end {
            WaitTarget::Listener(listener) => self.listener == listener,
            WaitTarget::Processor(processor) => self.processor == processor,
        }
    }
}

/// Waits until the target has ended.
///
/// Returns at once if that would be a deadlock: the target waits, directly or through waits of other
/// handlers, for the current handler to return.
pub(crate) async fn wait_for(end: WaitTarget, ended: impl Future<Output = ()>) {
    let Some(by) = CurrentHandler::current() else {
        return ended.await;
    };
    if let Some(_waiting) = WaitGuard::begin(ActiveWait { by, end }) {
        ended.await;
    }
}

/// Removes a wait from the list when it is dropped.
struct WaitGuard(ActiveWait);

impl WaitGuard {
    fn begin(wait: ActiveWait) -> Option<WaitGuard> {
        let mut waits = ACTIVE_WAITS.lock();
        if leads_to(wait.end, wait.by, &waits) {
            return None;
        }
        waits.push(wait);
        Some(WaitGuard(wait))
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        let mut waits = ACTIVE_WAITS.lock();
        if let Some(at) = waits.iter().position(|wait| *wait == self.0) {
            waits.swap_remove(at);
        }
    }
}

/// Returns whether the target cannot end before the handler returns.
fn leads_to(end: WaitTarget, handler: CurrentHandler, waits: &[ActiveWait]) -> bool {
    // Visits each target once, because many handlers may wait for the same informer.
    let mut reached = vec![end];
    let mut at = 0;
    while let Some(&end) = reached.get(at) {
        if handler.ends(end) {
            return true;
        }
        for wait in waits.iter().filter(|wait| wait.by.ends(end)) {
            if !reached.contains(&wait.end) {
                reached.push(wait.end);
            }
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contract_11_a_wait_for_a_target_that_waits_for_the_handler_is_detected() {
        let handler = |listener, processor| CurrentHandler { listener, processor };
        let wait = |listener, processor, end| ActiveWait {
            by: handler(listener, processor),
            end,
        };
        let waits = [
            wait(1, 10, WaitTarget::Processor(20)),
            wait(2, 20, WaitTarget::Listener(3)),
            wait(3, 30, WaitTarget::Processor(40)),
        ];
        assert!(leads_to(WaitTarget::Listener(7), handler(7, 10), &[]));
        assert!(leads_to(WaitTarget::Processor(10), handler(7, 10), &[]));
        assert!(!leads_to(WaitTarget::Processor(10), handler(7, 11), &[]));
        // 10 waits for 20, whose second listener waits for listener 3, which waits for 40.
        assert!(leads_to(WaitTarget::Processor(10), handler(4, 40), &waits));
        assert!(leads_to(WaitTarget::Listener(1), handler(4, 40), &waits));
        assert!(!leads_to(WaitTarget::Listener(5), handler(4, 40), &waits));
        assert!(!leads_to(WaitTarget::Processor(40), handler(1, 10), &waits));
    }
}
