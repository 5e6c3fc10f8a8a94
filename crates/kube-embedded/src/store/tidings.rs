//! Tells watchers of the newest revision, always in the order in which they came.
//!
//! tokio's `watch` does it in a random order, to spread the work; but runs that are to be repeated need the same order
//! every time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

/// The one who tells. When it is dropped, those who listen learn that nothing will come any more.
#[derive(Debug)]
pub(crate) struct Tidings {
    shared: Arc<Shared>,
}

/// Someone who listens.
#[derive(Debug)]
pub(crate) struct Listening {
    shared: Arc<Shared>,
    seen: u64,
}

/// Nothing will come any more.
#[derive(Debug)]
pub(crate) struct Silenced;

#[derive(Debug)]
struct Shared {
    newest: AtomicU64,
    /// How often it was told.
    told: AtomicU64,
    silenced: AtomicBool,
    notify: Notify,
}

impl Tidings {
    pub(crate) fn new(newest: u64) -> Tidings {
        Tidings {
            shared: Arc::new(Shared {
                newest: AtomicU64::new(newest),
                told: AtomicU64::new(0),
                silenced: AtomicBool::new(false),
                notify: Notify::new(),
            }),
        }
    }

    /// Tells of a revision, also if it is an older one.
    pub(crate) fn tell(&self, revision: u64) {
        self.shared.newest.store(revision, Ordering::Release);
        self.shared.told.fetch_add(1, Ordering::AcqRel);
        self.shared.notify.notify_waiters();
    }

    /// Listens from now on.
    pub(crate) fn listen(&self) -> Listening {
        Listening {
            seen: self.shared.told.load(Ordering::Acquire),
            shared: Arc::clone(&self.shared),
        }
    }
}

impl Drop for Tidings {
    fn drop(&mut self) {
        self.shared.silenced.store(true, Ordering::Release);
        self.shared.notify.notify_waiters();
    }
}

impl Listening {
    /// Whatever was told until now is known.
    pub(crate) fn catch_up(&mut self) {
        self.seen = self.shared.told.load(Ordering::Acquire);
    }

    /// Waits until something is told that is not known.
    ///
    /// Cancel safety: a dropped wait has missed nothing.
    pub(crate) async fn changed(&mut self) -> Result<(), Silenced> {
        loop {
            let notified = self.shared.notify.notified();
            tokio::pin!(notified);
            // Registered before looking, so that nothing that comes in between is missed.
            notified.as_mut().enable();
            let told = self.shared.told.load(Ordering::Acquire);
            if told != self.seen {
                self.seen = told;
                return Ok(());
            }
            if self.shared.silenced.load(Ordering::Acquire) {
                return Err(Silenced);
            }
            notified.await;
        }
    }

    /// Waits until a revision is reached.
    pub(crate) async fn reaches(&mut self, revision: u64) -> Result<(), Silenced> {
        while self.shared.newest.load(Ordering::Acquire) < revision {
            self.changed().await?;
        }
        Ok(())
    }
}
