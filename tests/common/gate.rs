//! Sources of informers that a test can block.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    Error, Kind,
    error::StatusError,
    source::{ApiListWatch, ListRequest, ListStream, ListWatch, WatchEvent, WatchRequest, WatchStream},
};
use tokio::sync::watch;

/// A gate between an informer and the server.
///
/// Closing the gate ends the watch with the error "expired", so that the informer lists next. Requests wait
/// until it is opened.
#[derive(Clone)]
pub(crate) struct Gate(Arc<watch::Sender<u64>>);

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate(Arc::new(watch::Sender::new(0)))
    }

    pub(crate) fn close(&self) {
        self.0.send_modify(|turns| *turns |= 1);
    }

    pub(crate) fn open(&self) {
        self.0.send_modify(|turns| *turns += *turns & 1);
    }

    /// Waits until the gate is open, and returns how often it was opened or closed.
    async fn opened(&self) -> u64 {
        let mut turns = self.0.subscribe();
        let open = turns.wait_for(|turns| turns & 1 == 0).await;
        *open.expect("the source owns the gate")
    }

    async fn closed_after(self, time: u64) {
        let mut turns = self.0.subscribe();
        drop(turns.wait_for(|turns| *turns != time).await);
    }
}

/// A source with a gate in front of the server.
pub(crate) struct GatedSource<K: Kind> {
    pub(crate) inner: ApiListWatch<K>,
    pub(crate) gate: Gate,
}

impl<K: Kind> ListWatch<K> for GatedSource<K> {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<K>, Error>> {
        async move {
            self.gate.opened().await;
            self.inner.list(request).await
        }
        .boxed()
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<K>, Error>> {
        async move {
            let time = self.gate.opened().await;
            let events = self.inner.watch(request).await?;
            let closed = self.gate.clone().closed_after(time);
            let expired = StatusError {
                code: 410,
                reason: "Expired".into(),
                ..StatusError::default()
            };
            let end = stream::iter([Ok(WatchEvent::Failure(expired))]);
            Ok(events.take_until(closed.boxed()).chain(end).boxed())
        }
        .boxed()
    }
}

/// A source that delivers events only while `go` is true.
pub(crate) struct PausedSource {
    pub(crate) inner: ApiListWatch<ConfigMap>,
    pub(crate) go: watch::Receiver<bool>,
}

impl ListWatch<ConfigMap> for PausedSource {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<ConfigMap>, Error>> {
        self.inner.list(request)
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<ConfigMap>, Error>> {
        async move {
            let go = self.go.clone();
            let events = self.inner.watch(request).await?;
            let held = events.then(move |event| {
                let mut go = go.clone();
                async move {
                    drop(go.wait_for(|go| *go).await);
                    event
                }
            });
            Ok(held.boxed())
        }
        .boxed()
    }
}
