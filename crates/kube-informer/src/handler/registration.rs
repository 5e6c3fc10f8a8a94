//! The registration of a handler.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::current_handler::{self, WaitTarget};
use crate::error::{Error, NotSynced, Problem};
use crate::measures::Durations;

/// The registration of a handler at an informer.
///
/// Dropping it does not remove the handler, which stays until it is removed or the informer stops. Clones are
/// cheap and refer to the same handler.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::Pod;
/// # async fn example(pods: kube_informer::SharedInformer<Pod>) -> Result<(), kube_informer::Error> {
/// # use kube_informer::Event;
/// # use std::time::Duration;
/// let registration = pods.add_handler(|event: Event<Pod>| println!("{}", event.key()))?;
/// pods.start()?;
/// registration.wait_for_sync(Duration::from_secs(30)).await?;
/// println!("{} has {} pending events", registration.name(), registration.backlog());
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

    /// Returns the handler's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.listener.name()
    }

    /// Returns whether the handler has handled all initial objects.
    ///
    /// These are the objects that existed when it was added, or those of the informer's first list. A call
    /// that panicked counts as handled (contract 8).
    #[doc(alias("HasSynced", "HasSyncedChecker"))]
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.listener.synced().is_cancelled()
    }

    /// Waits until [`Registration::has_synced`], without a time limit.
    ///
    /// # Errors
    /// If the handler is removed or the informer stops first.
    ///
    /// # Cancel safety
    /// Cancel safe: dropping the future loses nothing.
    #[doc(alias = "WaitFor")]
    pub async fn synced(&self) -> Result<(), Error> {
        tokio::select! {
            biased;
            () = self.listener.synced().cancelled() => Ok(()),
            () = self.listener.removed().cancelled() => Err(self.not_synced(NotSynced::Stopped)),
            () = self.listener.done().cancelled() => Err(self.not_synced(NotSynced::Stopped)),
        }
    }

    /// Waits until [`Registration::has_synced`], but no longer than the timeout.
    ///
    /// # Errors
    /// If the timeout expires, the handler is removed, or the informer stops first. The error contains the
    /// name of the handler and its backlog.
    ///
    /// # Cancel safety
    /// Cancel safe: dropping the future loses nothing.
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

    /// Returns the number of events that are not delivered yet.
    ///
    /// There is at most one event for each initial object and one for each object that has changed since,
    /// unless the handler needs every event.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.listener.backlog()
    }

    /// Returns the number of calls that panicked.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.listener.panics()
    }

    /// Returns the number of events that were delivered to the handler or the stream.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.listener.delivered()
    }

    /// Returns the durations of the handler's calls. Streams have none.
    #[must_use]
    pub fn calls(&self) -> Durations {
        self.listener.calls()
    }

    /// Returns how long changes that were already in the cache waited for this handler.
    ///
    /// One pending change is measured at a time: at a low rate every change, at a high rate some of them.
    #[must_use]
    pub fn waits(&self) -> Durations {
        self.listener.waits()
    }

    /// Returns the duration of the current call, if one is running. A handler that never returns can be found
    /// this way.
    #[must_use]
    pub fn running_for(&self) -> Option<Duration> {
        self.listener.running_for()
    }

    /// Removes the handler or the stream.
    ///
    /// After this returns, no further call of the handler starts, and the stream returns no further event. A
    /// call that started before may still be running, or about to run the first line of the handler: use
    /// [`Registration::remove_and_wait`] to wait for its end. Further calls do nothing. A handler may remove
    /// itself.
    #[doc(alias = "RemoveEventHandler")]
    pub fn remove(&self) {
        Arc::clone(&self.listener).remove();
    }

    /// Removes the handler and waits until its last call has returned.
    ///
    /// Returns at once if waiting would be a deadlock: inside the handler itself, or inside a handler that
    /// has to return first.
    ///
    /// # Cancel safety
    /// The handler is removed even if the future is dropped.
    #[doc(alias = "ShutDownEventHandler")]
    pub async fn remove_and_wait(&self) {
        self.remove();
        current_handler::wait_for(self.listener.end(), self.listener.done().cancelled()).await;
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

/// A listener of any kind of object.
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
