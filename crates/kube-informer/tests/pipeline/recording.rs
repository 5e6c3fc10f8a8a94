//! Handlers that record their events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, Key, SharedInformer};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Much longer than any test takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// The events that a handler received, in order.
pub(crate) struct Recording {
    events: UnboundedReceiver<Event<ConfigMap>>,
}

/// Creates a channel for recorded events.
pub(crate) fn recording_channel() -> (UnboundedSender<Event<ConfigMap>>, Recording) {
    let (sender, events) = unbounded_channel();
    (sender, Recording { events })
}

/// Creates a handler that records all events.
pub(crate) fn recorder() -> (impl FnMut(Event<ConfigMap>) + Send + 'static, Recording) {
    let (sender, recording) = recording_channel();
    (move |event| drop(sender.send(event)), recording)
}

impl Recording {
    /// Returns the next event in short form: `* a/b@1` for an initial event, `+ a/b@2` for an addition, `~
    /// a/b@2>3` for an update, `= a/b@3` for a resync, `- a/b@4` for a deletion, and `? a/b@4` for a deletion
    /// that was not observed.
    pub(crate) async fn next(&mut self) -> String {
        short(&self.event().await)
    }

    pub(crate) async fn event(&mut self) -> Event<ConfigMap> {
        let event = tokio::time::timeout(LONG, self.events.recv()).await;
        event
            .expect("timeout waiting for an event")
            .expect("the handler was dropped")
    }

    pub(crate) async fn some(&mut self, count: usize) -> Vec<String> {
        let mut some = Vec::new();
        for _ in 0..count {
            some.push(self.next().await);
        }
        some
    }

    /// Returns all events so far.
    pub(crate) fn now(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.events.try_recv().ok())
            .map(|event| short(&event))
            .collect()
    }

    /// Returns all events until the handler ends.
    pub(crate) async fn rest(&mut self) -> Vec<Event<ConfigMap>> {
        let mut rest = Vec::new();
        while let Some(event) = tokio::time::timeout(LONG, self.events.recv())
            .await
            .expect("it ends")
        {
            rest.push(event);
        }
        rest
    }
}

pub(crate) fn short(event: &Event<ConfigMap>) -> String {
    let (key, version) = (event.key(), event.object().version());
    match event {
        Event::Added {
            is_in_initial_list: true,
            ..
        } => format!("* {key}@{version}"),
        Event::Added { .. } => format!("+ {key}@{version}"),
        Event::Updated { .. } if event.is_resync() => format!("= {key}@{version}"),
        Event::Updated { old, .. } => format!("~ {key}@{}>{version}", old.version()),
        Event::Deleted(deleted) if deleted.is_final_state_unknown() => format!("? {key}@{version}"),
        Event::Deleted(_) => format!("- {key}@{version}"),
    }
}

/// Checks that the events are a valid history (contract 3), and returns the objects at its end.
pub(crate) fn check_history<'a>(
    events: impl IntoIterator<Item = &'a Event<ConfigMap>>,
) -> BTreeMap<Key, Arc<ConfigMap>> {
    let mut known: BTreeMap<Key, Arc<ConfigMap>> = BTreeMap::new();
    let mut initial = true;
    for event in events {
        let key = event.key().clone();
        match event {
            Event::Added {
                object,
                is_in_initial_list,
            } => {
                assert!(initial || !is_in_initial_list, "{}", short(event));
                initial = *is_in_initial_list;
                assert!(
                    known.insert(key, object.to_arc()).is_none(),
                    "{} twice",
                    short(event)
                );
            }
            Event::Updated { old, new } => {
                initial = false;
                let before = known.insert(key, new.to_arc()).expect("it was added");
                assert!(Arc::ptr_eq(&before, &old.to_arc()), "{}", short(event));
            }
            Event::Deleted(deleted) => {
                initial = false;
                let before = known.remove(&key).expect("it was added");
                assert!(
                    Arc::ptr_eq(&before, &deleted.last_seen().to_arc()),
                    "{}",
                    short(event)
                );
            }
        }
    }
    known
}

/// Checks that the history ends with the contents of the cache (contract 5).
pub(crate) fn check_final_state<'a>(
    events: impl IntoIterator<Item = &'a Event<ConfigMap>>,
    informer: &SharedInformer<ConfigMap>,
) {
    let known = check_history(events);
    let cache = informer.snapshot();
    assert_eq!(known.len(), cache.len());
    for object in &cache {
        assert!(Arc::ptr_eq(&known[object.key()], &object.to_arc()), "{object:?}");
    }
}
