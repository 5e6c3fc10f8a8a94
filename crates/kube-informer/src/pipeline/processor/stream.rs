//! A stream of the events of an informer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;

use super::listener::Listener;
use crate::handler::{AnyListener, Event, Registration};
use crate::object::Kind;

/// A stream of the events of an informer, as an alternative to a handler.
///
/// The stream starts with all existing objects. It ends when the informer stops, after all pending events
/// were returned. Changes of one object between two polls are coalesced, as for handlers. Dropping the stream
/// removes it from the informer.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::Pod;
/// # async fn example(pods: kube_informer::SharedInformer<Pod>) -> Result<(), kube_informer::Error> {
/// use futures::StreamExt;
///
/// let mut events = pods.events()?;
/// while let Some(event) = events.next().await {
///     println!("{}", event.key());
/// }
/// # Ok(())
/// # }
/// ```
pub struct EventStream<K: Kind> {
    listener: Arc<Listener<K>>,
}

impl<K: Kind> EventStream<K> {
    pub(super) fn new(listener: Arc<Listener<K>>) -> EventStream<K> {
        EventStream { listener }
    }

    /// Returns the registration of this stream, for example to read its backlog.
    #[must_use]
    pub fn registration(&self) -> Registration {
        Registration::new(Arc::clone(&self.listener) as Arc<dyn AnyListener>)
    }
}

impl<K: Kind> Stream for EventStream<K> {
    type Item = Event<K>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        let taken = self.listener.poll_take(context);
        if let Poll::Ready(None) = taken {
            self.listener.mark_done();
        }
        taken
    }
}

impl<K: Kind> Drop for EventStream<K> {
    fn drop(&mut self) {
        AnyListener::remove(Arc::clone(&self.listener));
        self.listener.mark_done();
    }
}

impl<K: Kind> std::fmt::Debug for EventStream<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("EventStream").field(&self.registration()).finish()
    }
}
