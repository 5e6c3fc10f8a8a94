//! What a user holds of a handler that was added.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::inside::{self, WaitTarget};
use crate::error::{Error, NotSynced, Problem};
use crate::measures::Durations;

/// A handler that was added to an informer.
///
/// Dropping it changes nothing: the handler stays until it is removed or the informer stops. Cloning it costs a counter.
/// It stands for client-go's `ResourceEventHandlerRegistration`.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::Pod;
/// # async fn example(pods: kube_informer::SharedInformer<Pod>) -> Result<(), kube_informer::Error> {
/// # use kube_informer::Event;
/// # use std::time::Duration;
/// let registration = pods.add_handler(|event: Event<Pod>| println!("{}", event.key()))?;
/// pods.start()?;
/// registration.wait_for_sync(Duration::from_secs(30)).await?;
/// println!("{} has {} to go", registration.name(), registration.backlog());
/// registration.remove_and_wait().await;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "ResourceEventHandlerRegistration")]
#[derive(Clone)]
pub struct Registration {
    listener: Arc<dyn AnyListener>,
}

impl Registration {
    pub(crate) fn new(listener: Arc<dyn AnyListener>) -> Registration {
        Registration { listener }
    }

    /// The handler's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.listener.name()
    }

    /// Whether the handler has handled every object that was there when it joined, or when the informer first listed;
    /// panics count as handled (contract 8).
    #[doc(alias("HasSynced", "HasSyncedChecker"))]
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.listener.synced().is_cancelled()
    }

    /// Waits until [`Registration::has_synced`], for as long as it takes.
    ///
    /// # Errors
    /// If the handler was removed or the informer stopped before.
    ///
    /// # Cancel safety
    /// Nothing is lost when the wait is dropped.
    #[doc(alias = "WaitFor")]
    pub async fn synced(&self) -> Result<(), Error> {
        tokio::select! {
            biased;
            () = self.listener.synced().cancelled() => Ok(()),
            () = self.listener.removed().cancelled() => Err(self.not_synced(NotSynced::Stopped)),
            () = self.listener.done().cancelled() => Err(self.not_synced(NotSynced::Stopped)),
        }
    }

    /// Waits until [`Registration::has_synced`], but no longer than this.
    ///
    /// # Errors
    /// If it takes longer, or the handler was removed or the informer stopped before. The error names the handler and
    /// what it has still to handle.
    ///
    /// # Cancel safety
    /// Nothing is lost when the wait is dropped.
    pub async fn wait_for_sync(&self, timeout: Duration) -> Result<(), Error> {
        match tokio::time::timeout(timeout, self.synced()).await {
            Ok(result) => result,
            Err(_) => Err(self.not_synced(NotSynced::TimedOut(timeout))),
        }
    }

    fn not_synced(&self, why: NotSynced) -> Error {
        Error::new(Problem::HandlerNotSynced {
            handler: self.name().to_owned(),
            backlog: self.backlog(),
            why,
        })
    }

    /// How many events this handler has still to be told: at most one for each object of its beginning, and one for each
    /// that has changed since, unless the handler asked for every event.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.listener.backlog()
    }

    /// How often the handler panicked.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.listener.panics()
    }

    /// How many events the handler, or the holder of the stream, was given.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.listener.delivered()
    }

    /// How long the calls of the handler took. A stream is not called.
    #[must_use]
    pub fn calls(&self) -> Durations {
        self.listener.calls()
    }

    /// How long changes that were in the cache already waited for this handler. It is noted of one change at a time: of every
    /// one while few come, of some while many do.
    #[must_use]
    pub fn waits(&self) -> Durations {
        self.listener.waits()
    }

    /// How long the call has taken so far that is running, if one is: a handler that is stuck shows here.
    #[must_use]
    pub fn running_for(&self) -> Option<Duration> {
        self.listener.running_for()
    }

    /// Removes the handler, or the stream.
    ///
    /// When this returns, no further call of the handler begins, whichever way it is called, and the stream gives no
    /// further event. A call that began before may still be running, or just about to run the first line of the handler:
    /// use [`Registration::remove_and_wait`] to wait for its end. Calling it again changes nothing, and a handler may remove
    /// itself.
    #[doc(alias = "RemoveEventHandler")]
    pub fn remove(&self) {
        Arc::clone(&self.listener).remove();
    }

    /// Removes the handler and waits until it will run no more.
    ///
    /// It does not wait where that would take forever: inside the handler itself, or inside one that has to return first.
    ///
    /// # Cancel safety
    /// The handler is removed even if the wait is dropped.
    #[doc(alias = "ShutDownEventHandler")]
    pub async fn remove_and_wait(&self) {
        self.remove();
        inside::wait_for(self.listener.end(), self.listener.done().cancelled()).await;
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("name", &self.name())
            .field("has_synced", &self.has_synced())
            .field("backlog", &self.backlog())
            .finish_non_exhaustive()
    }
}

/// A listener without the type of its objects.
pub(crate) trait AnyListener: Send + Sync {
    fn name(&self) -> &str;
    fn backlog(&self) -> usize;
    fn panics(&self) -> u64;
    fn delivered(&self) -> u64;
    fn calls(&self) -> Durations;
    fn waits(&self) -> Durations;
    fn running_for(&self) -> Option<Duration>;
    fn synced(&self) -> &CancellationToken;
    fn removed(&self) -> &CancellationToken;
    fn done(&self) -> &CancellationToken;
    fn remove(self: Arc<Self>);
    fn end(&self) -> WaitTarget;
}
