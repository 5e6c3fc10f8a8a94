//! Handlers that write down what they are told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, Key, SharedInformer};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Longer than anything takes here; what is longer is an error.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// What a handler was told, one event after the other.
pub(crate) struct Told {
    events: UnboundedReceiver<Event<ConfigMap>>,
}

/// A place to write events down, and the other end of it.
pub(crate) fn told() -> (UnboundedSender<Event<ConfigMap>>, Told) {
    let (sender, events) = unbounded_channel();
    (sender, Told { events })
}

/// A handler that writes everything down.
pub(crate) fn recorder() -> (impl FnMut(Event<ConfigMap>) + Send + 'static, Told) {
    let (sender, told) = told();
    (move |event| drop(sender.send(event)), told)
}

impl Told {
    /// The next event in short: `* a/b@1` for an initial add, `+ a/b@2` for a later one, `~ a/b@2>3`, `= a/b@3` for a
    /// resync, `- a/b@4`, and `? a/b@4` where nobody saw it go.
    pub(crate) async fn next(&mut self) -> String {
        short(&self.event().await)
    }

    pub(crate) async fn event(&mut self) -> Event<ConfigMap> {
        let event = tokio::time::timeout(LONG, self.events.recv()).await;
        event.expect("an event comes in time").expect("the handler lives")
    }

    pub(crate) async fn some(&mut self, count: usize) -> Vec<String> {
        let mut some = Vec::new();
        for _ in 0..count {
            some.push(self.next().await);
        }
        some
    }

    /// What has come so far.
    pub(crate) fn now(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.events.try_recv().ok())
            .map(|event| short(&event))
            .collect()
    }

    /// Everything up to the end of the handler.
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

/// Contract 3 for a whole history; says what is known at its end.
pub(crate) fn believe<'a>(
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

/// The history ends with what the cache holds (contract 5).
pub(crate) fn agrees<'a>(
    events: impl IntoIterator<Item = &'a Event<ConfigMap>>,
    informer: &SharedInformer<ConfigMap>,
) {
    let known = believe(events);
    let cache = informer.snapshot();
    assert_eq!(known.len(), cache.len());
    for object in &cache {
        assert!(Arc::ptr_eq(&known[object.key()], &object.to_arc()), "{object:?}");
    }
}
