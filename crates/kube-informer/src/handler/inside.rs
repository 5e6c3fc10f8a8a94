//! Which handler the current code runs in, so that handlers do not wait for themselves or for each other.

use parking_lot::Mutex;

tokio::task_local! {
    static CURRENT_HANDLER: CurrentHandler;
}

/// Waits of handlers that are going on, in all informers of the process.
static ACTIVE_WAITS: Mutex<Vec<ActiveWait>> = Mutex::new(Vec::new());

/// The handler that is called here, and its informer's processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CurrentHandler {
    pub(crate) listener: u64,
    pub(crate) processor: u64,
}

/// What a handler can wait for: the end of one handler, or of all handlers of an informer.
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
    /// The handler that is running in this task, or was called by it.
    fn current() -> Option<CurrentHandler> {
        CURRENT_HANDLER.try_with(|inside| *inside).ok()
    }

    /// Calls a handler.
    pub(crate) fn sync<R>(self, call: impl FnOnce() -> R) -> R {
        CURRENT_HANDLER.sync_scope(self, call)
    }

    /// Awaits a handler's work.
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

/// Waits with this future for an end. Returns at once if the current handler, directly or through waits of other handlers, has
/// to return first.
pub(crate) async fn wait_for(end: WaitTarget, ended: impl Future<Output = ()>) {
    let Some(by) = CurrentHandler::current() else {
        return ended.await;
    };
    if let Some(_waiting) = WaitGuard::begin(ActiveWait { by, end }) {
        ended.await;
    }
}

/// Removes a wait from the list when it is over.
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

/// Whether an end cannot come before a handler returns, because of waits that are going on.
fn leads_to(end: WaitTarget, handler: CurrentHandler, waits: &[ActiveWait]) -> bool {
    // Each end once: many handlers may wait for the same informers.
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
    fn contract_11_an_end_that_waits_for_a_handler_is_found() {
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
        // 10 waits for 20, whose second listener waits for the third, which waits for 40.
        assert!(leads_to(WaitTarget::Processor(10), handler(4, 40), &waits));
        assert!(leads_to(WaitTarget::Listener(1), handler(4, 40), &waits));
        assert!(!leads_to(WaitTarget::Listener(5), handler(4, 40), &waits));
        assert!(!leads_to(WaitTarget::Processor(40), handler(1, 10), &waits));
    }
}
