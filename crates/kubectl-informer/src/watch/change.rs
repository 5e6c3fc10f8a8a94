//! What is there at the beginning, and what comes after it.

use futures::stream::{BoxStream, StreamExt as _};
use kube_informer::{Event, Object, SharedInformer};

use crate::cache::{Shape, Whole};
use crate::failure::Outcome;

/// The objects that are there, by namespace and name, and the changes from then on. The informer must have synced.
///
/// The objects are not decoded yet, and whoever shows them should forget each before the next: all of them at once would
/// not be small.
pub(super) async fn changes<S: Shape>(
    informer: &SharedInformer<Whole<S>>,
) -> Outcome<(Vec<Object<Whole<S>>>, BoxStream<'static, Event<Whole<S>>>)> {
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
