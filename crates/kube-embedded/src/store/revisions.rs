//! Notifies watches of the newest revision, in the order in which they subscribed.
//!
//! tokio's `watch` uses a random order, but simulations need the same order in every run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

/// Sends revisions. Dropping it closes the channel.
#[derive(Debug)]
pub(crate) struct RevisionSender {
    channel: Arc<RevisionChannel>,
}

/// Waits for revisions.
#[derive(Debug)]
pub(crate) struct RevisionReceiver {
    channel: Arc<RevisionChannel>,
    seen: u64,
}

/// The sender was dropped.
#[derive(Debug)]
pub(crate) struct SenderDropped;

#[derive(Debug)]
struct RevisionChannel {
    newest: AtomicU64,
    /// Number of sent revisions.
    sent: AtomicU64,
    closed: AtomicBool,
    notify: Notify,
}

impl RevisionSender {
    pub(crate) fn new(newest: u64) -> RevisionSender {
        RevisionSender {
            channel: Arc::new(RevisionChannel {
                newest: AtomicU64::new(newest),
                sent: AtomicU64::new(0),
                closed: AtomicBool::new(false),
                notify: Notify::new(),
            }),
        }
    }

    /// Sends a revision, which may be lower than the previous one.
    pub(crate) fn send(&self, revision: u64) {
        self.channel.newest.store(revision, Ordering::Release);
        self.channel.sent.fetch_add(1, Ordering::AcqRel);
        self.channel.notify.notify_waiters();
    }

    /// Returns a receiver of the following revisions.
    pub(crate) fn subscribe(&self) -> RevisionReceiver {
        RevisionReceiver {
            seen: self.channel.sent.load(Ordering::Acquire),
            channel: Arc::clone(&self.channel),
        }
    }
}

impl Drop for RevisionSender {
    fn drop(&mut self) {
        self.channel.closed.store(true, Ordering::Release);
        self.channel.notify.notify_waiters();
    }
}

impl RevisionReceiver {
    /// Marks all sent revisions as seen.
    pub(crate) fn mark_seen(&mut self) {
        self.seen = self.channel.sent.load(Ordering::Acquire);
    }

    /// Waits until there is a revision that was not seen.
    ///
    /// # Cancel safety
    /// Cancel safe: nothing is lost if the future is dropped.
    pub(crate) async fn changed(&mut self) -> Result<(), SenderDropped> {
        loop {
            let notified = self.channel.notify.notified();
            tokio::pin!(notified);
            // Registered before the check, so that no revision is missed.
            notified.as_mut().enable();
            let sent = self.channel.sent.load(Ordering::Acquire);
            if sent != self.seen {
                self.seen = sent;
                return Ok(());
            }
            if self.channel.closed.load(Ordering::Acquire) {
                return Err(SenderDropped);
            }
            notified.await;
        }
    }

    /// Waits until the newest revision is at least `revision`.
    pub(crate) async fn wait_for(&mut self, revision: u64) -> Result<(), SenderDropped> {
        while self.channel.newest.load(Ordering::Acquire) < revision {
            self.changed().await?;
        }
        Ok(())
    }
}
