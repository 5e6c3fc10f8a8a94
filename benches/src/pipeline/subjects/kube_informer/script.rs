//! A scripted list and watch that replaces the server.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube_informer::{
    Error, ResourceVersion,
    error::StatusError,
    source::{
        ListPart, ListRequest, ListStream, ListWatch, RawObject, WatchEvent, WatchRequest, WatchStream,
    },
};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Returns the added responses in order. Further watches stay silent.
#[derive(Clone, Default)]
pub(super) struct Script {
    answers: Arc<Mutex<Answers>>,
    /// Notified when a list is requested.
    pub(super) listing: Arc<Notify>,
}

#[derive(Default)]
struct Answers {
    lists: VecDeque<(Vec<Pod>, u64)>,
    watches: VecDeque<BoxStream<'static, WatchEvent<Pod>>>,
}

impl Script {
    pub(super) fn new() -> Script {
        Script::default()
    }

    pub(super) fn will_list(&self, pods: Vec<Pod>, version: u64) {
        self.with(|answers| answers.lists.push_back((pods, version)));
    }

    /// Adds a watch that starts when `gate` is notified, and then returns updates as fast as they are read.
    pub(super) fn will_watch(
        &self,
        gate: &Arc<Notify>,
        updates: impl Iterator<Item = RawObject<Pod>> + Send + 'static,
    ) {
        self.will_send(gate, stream::iter(updates.map(WatchEvent::Modified)));
    }

    /// Adds a watch that expires when `gate` is notified.
    pub(super) fn will_expire(&self, gate: &Arc<Notify>) {
        let expired = StatusError {
            code: 410,
            reason: "Expired".into(),
            ..StatusError::default()
        };
        self.will_send(gate, stream::iter([WatchEvent::Failure(expired)]));
    }

    fn will_send(&self, gate: &Arc<Notify>, events: impl Stream<Item = WatchEvent<Pod>> + Send + 'static) {
        let gate = Arc::clone(gate);
        let opened = async move { gate.notified().await };
        // No event before the gate is opened, and none after the given events.
        let watch = opened.map(|()| events).flatten_stream().chain(stream::pending());
        self.with(|answers| answers.watches.push_back(watch.boxed()));
    }

    fn with<R>(&self, act: impl FnOnce(&mut Answers) -> R) -> R {
        act(&mut self.answers.lock())
    }
}

impl ListWatch<Pod> for Script {
    fn list(&self, _: ListRequest) -> BoxFuture<'_, Result<ListStream<Pod>, Error>> {
        self.listing.notify_one();
        let answer = self.with(|answers| answers.lists.pop_front());
        Box::pin(async move {
            let Some((pods, version)) = answer else {
                return std::future::pending().await;
            };
            let items = pods
                .into_iter()
                .map(|pod| RawObject::decoded(pod).map(ListPart::Object));
            let end = ListPart::End {
                version: ResourceVersion::from(version.to_string().as_str()),
                continue_token: None,
            };
            Ok(stream::iter(items.chain([Ok(end)])).boxed())
        })
    }

    fn watch(&self, _: WatchRequest) -> BoxFuture<'_, Result<WatchStream<Pod>, Error>> {
        let answer = self.with(|answers| answers.watches.pop_front());
        let watch: Pin<Box<dyn Stream<Item = _> + Send>> =
            answer.unwrap_or_else(|| stream::pending().boxed());
        Box::pin(async move { Ok(watch.map(Ok).boxed()) })
    }
}
