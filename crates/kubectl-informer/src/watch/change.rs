//! What an informer tells, as JSON.

use futures::stream::{BoxStream, StreamExt as _};
use kube::api::ApiResource;
use kube_informer::{Event, Events, Key, Object, SharedInformer};
use serde_json::Value;

use crate::cache::Whole;
use crate::failure::Outcome;

/// A change of an object.
#[derive(Debug)]
pub(super) enum Change {
    Added(Value),
    Updated {
        old: Value,
        new: Value,
    },
    /// Nothing changed: what is known is repeated.
    Resync(Value),
    Deleted(Value),
}

/// An object that is there at the beginning.
pub(super) struct Present<const METADATA: bool> {
    object: Object<Whole<METADATA>>,
}

impl<const METADATA: bool> Present<METADATA> {
    fn key(&self) -> &Key {
        self.object.key()
    }

    /// The object, which is decoded for this and forgotten again: all of them at once would not be small.
    pub(super) fn into_value(self, kind: &ApiResource) -> Value {
        self.object.typed(kind)
    }
}

/// What is there, by namespace and name, and what changes from then on. The informer must have synced.
pub(super) async fn changes<const METADATA: bool>(
    informer: &SharedInformer<Whole<METADATA>>,
    kind: &ApiResource,
) -> Outcome<(Vec<Present<METADATA>>, BoxStream<'static, Change>)> {
    let mut events = informer.events()?;
    let beginning = events.registration();
    let mut present = Vec::new();
    let mut first = None;
    loop {
        let event = tokio::select! {
            biased;
            event = events.next() => event,
            synced = beginning.synced() => {
                synced?;
                break;
            }
        };
        match event {
            Some(Event::Added {
                object,
                is_in_initial_list: true,
            }) => present.push(Present { object }),
            event => {
                first = event;
                break;
            }
        }
    }
    present.sort_unstable_by(|a, b| a.key().cmp(b.key()));
    Ok((present, told(first, events, kind.clone())))
}

fn told<const METADATA: bool>(
    first: Option<Event<Whole<METADATA>>>,
    events: Events<Whole<METADATA>>,
    kind: ApiResource,
) -> BoxStream<'static, Change> {
    let events = futures::stream::iter(first).chain(events);
    events.map(move |event| Change::of(&event, &kind)).boxed()
}

impl Change {
    fn of<const METADATA: bool>(event: &Event<Whole<METADATA>>, kind: &ApiResource) -> Change {
        let is_resync = event.is_resync();
        match event {
            Event::Added { object, .. } => Change::Added(object.typed(kind)),
            Event::Updated { new, .. } if is_resync => Change::Resync(new.typed(kind)),
            Event::Updated { old, new } => Change::Updated {
                old: old.typed(kind),
                new: new.typed(kind),
            },
            Event::Deleted(deleted) => Change::Deleted(deleted.typed(kind)),
        }
    }
}
