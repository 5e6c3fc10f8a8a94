//! The initial objects and the stream of changes after them.

use futures::stream::{BoxStream, StreamExt as _};
use kube_informer::{Event, Object, SharedInformer};

use crate::cache::{JsonObject, ObjectForm};
use crate::failure::Outcome;

/// Returns the initial objects, sorted by namespace and name, and the changes after them. The informer must have synced.
///
/// Objects are not decoded yet. Drop each before decoding the next, because all decoded objects together are
/// large.
pub(super) async fn changes<S: ObjectForm>(
    informer: &SharedInformer<JsonObject<S>>,
) -> Outcome<(
    Vec<Object<JsonObject<S>>>,
    BoxStream<'static, Event<JsonObject<S>>>,
)> {
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
            }) => present.push(object),
            event => {
                first = event;
                break;
            }
        }
    }
    present.sort_unstable_by(|a, b| a.key().cmp(b.key()));
    Ok((present, futures::stream::iter(first).chain(events).boxed()))
}
