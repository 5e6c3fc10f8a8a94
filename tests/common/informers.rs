//! Starting, stopping and waiting for informers, and handlers whose events a test can await.

use std::future::Future;
use std::time::Duration;

use kube::Resource;
use kube_informer::{
    Backoff, CacheFormat, Event, InformerBuilder, Kind, Object, ResourceVersion, SharedInformer,
    source::WireFormat,
};
use tokio::sync::mpsc;

/// Timeout of every step.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Retries after a millisecond, for tests on a clock that is not paused.
pub(crate) const SHORT_BACKOFF: Backoff = Backoff {
    initial: Duration::from_millis(1),
    factor: 1.0,
    cap: Duration::from_millis(1),
    jitter: 0.0,
    reset: Duration::from_mins(2),
};

/// Returns the cache format in `KUBE_INFORMER_TEST_FORM`: decoded objects by default, encoded ones with
/// `packed`.
pub(crate) fn form() -> CacheFormat {
    match std::env::var("KUBE_INFORMER_TEST_FORM").as_deref() {
        Ok("packed") => CacheFormat::Packed,
        Ok("typed") | Err(_) => CacheFormat::Decoded,
        Ok(other) => panic!("KUBE_INFORMER_TEST_FORM is {other:?}; it can be typed or packed"),
    }
}

/// Returns the wire format in `KUBE_INFORMER_TEST_WIRE`: protobuf by default, or `json`.
pub(crate) fn wire_format() -> WireFormat {
    match std::env::var("KUBE_INFORMER_TEST_WIRE").as_deref() {
        Ok("json") => WireFormat::Json,
        Ok("protobuf") | Err(_) => WireFormat::Protobuf,
        Ok(other) => panic!("KUBE_INFORMER_TEST_WIRE is {other:?}; it can be protobuf or json"),
    }
}

/// Sets the formats that the environment requests.
pub(crate) fn with_requested_formats<K: Kind>(builder: InformerBuilder<K>) -> InformerBuilder<K> {
    builder.cache_format(form()).wire_format(wire_format())
}

/// Awaits a future with a timeout.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what)
        .await
        .expect("a result within a minute")
}

/// Starts an informer and waits until it has synced.
pub(crate) async fn started<K: Kind>(informer: &SharedInformer<K>) {
    informer.start().expect("a start");
    informer.wait_for_sync(PATIENCE).await.expect("a sync");
}

/// Stops an informer and waits for its end.
pub(crate) async fn stopped<K: Kind>(informer: &SharedInformer<K>) {
    soon(informer.shutdown()).await;
}

/// Waits until a write is in the cache.
pub(crate) async fn caught_up<K: Kind>(informer: &SharedInformer<K>, version: impl Into<ResourceVersion>) {
    informer
        .wait_for_version(version, PATIENCE)
        .await
        .expect("the version of a write");
}

/// Returns the names of objects, sorted.
pub(crate) fn names<K: Resource>(objects: &[Object<K>]) -> Vec<String> {
    sorted(
        objects
            .iter()
            .map(|object| object.meta().name.clone().unwrap_or_default()),
    )
}

pub(crate) fn sorted(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut words: Vec<String> = words.into_iter().collect();
    words.sort();
    words
}

/// Returns a handler, and the events that it receives.
pub(crate) fn recording_handler<K: Kind>() -> (impl FnMut(Event<K>) + Send + 'static, ReceivedEvents<K>) {
    let (sender, events) = mpsc::unbounded_channel();
    (
        // The test may have dropped the receiver.
        move |event| drop(sender.send(event)),
        ReceivedEvents(events),
    )
}

/// The events that a handler has received.
pub(crate) struct ReceivedEvents<K>(mpsc::UnboundedReceiver<Event<K>>);

impl<K: Kind> ReceivedEvents<K> {
    pub(crate) async fn next(&mut self) -> Event<K> {
        soon(self.0.recv()).await.expect("an event before the end")
    }

    pub(crate) async fn word(&mut self) -> String {
        event_word(&self.next().await)
    }

    /// Returns the next words, sorted, because lists have no order.
    pub(crate) async fn listed(&mut self, count: usize) -> Vec<String> {
        let mut words = Vec::new();
        for _ in 0..count {
            words.push(self.word().await);
        }
        sorted(words)
    }

    /// Returns all words up to this one, in order.
    pub(crate) async fn until(&mut self, last: &str) -> Vec<String> {
        let mut words = Vec::new();
        loop {
            words.push(self.word().await);
            if words.last().is_some_and(|word| word == last) {
                return words;
            }
        }
    }

    /// Returns the events that were received and not read yet.
    pub(crate) fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.0.try_recv().ok())
            .map(|event| event_word(&event))
            .collect()
    }
}

/// Formats an event: `*a` is in the initial list, `+a` is added, `~a` is changed, `=a` is a resync, `-a` is
/// deleted, `?a` is deleted with an unknown final state.
pub(crate) fn event_word<K>(event: &Event<K>) -> String {
    let sign = match event {
        Event::Added {
            is_in_initial_list: true,
            ..
        } => '*',
        Event::Added { .. } => '+',
        Event::Updated { .. } if event.is_resync() => '=',
        Event::Updated { .. } => '~',
        Event::Deleted(deleted) if deleted.is_final_state_unknown() => '?',
        Event::Deleted(_) => '-',
    };
    format!("{sign}{}", event.key().name())
}
