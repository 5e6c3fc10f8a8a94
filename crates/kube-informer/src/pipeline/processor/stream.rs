//! EventStream as a stream.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;

use super::listener::Listener;
use crate::handler::{AnyListener, Event, Registration};
use crate::object::Kind;

/// The events of an informer, one after the other: the equal of a handler, for those who would rather ask than be called.
///
/// It begins with every object that is there and ends when the informer stops, after everything was given out. Between
/// two polls, changes of one object become one, as for handlers. Dropping it removes it.
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

    /// The place in the stream: its backlog, and whether the objects of the beginning are through.
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
            self.listener.ended();
        }
        taken
    }
}

impl<K: Kind> Drop for EventStream<K> {
    fn drop(&mut self) {
        AnyListener::remove(Arc::clone(&self.listener));
        self.listener.ended();
    }
}

impl<K: Kind> std::fmt::Debug for EventStream<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("EventStream").field(&self.registration()).finish()
    }
}
