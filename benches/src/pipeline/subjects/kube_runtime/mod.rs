//! kube-runtime's reflector.

mod events;
mod pauses;
mod reads;

use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::reflector::{self, ObjectRef, Store, reflector};
use kube::runtime::watcher::{self, Event};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::Outcome;
use crate::pipeline::pods;
use crate::pipeline::scenario::{Scenario, Size};
use crate::report::Report;

/// Runs a scenario and prints its figures.
pub async fn run(scenario: Scenario, size: Size) -> Outcome {
    let report = Report::of("kube-runtime");
    match scenario {
        Scenario::Events => events::run(report, size).await,
        Scenario::Reads => reads::run(report, size).await,
        Scenario::Pauses => pauses::run(report, size).await,
        // Whoever subscribes late is not told what is there.
        Scenario::Joins => Ok(()),
        Scenario::Memory => Err("memory is measured by the program `memory`".into()),
    }
}

/// What a watcher would give: a list, then, when `gate` is told to, whatever comes after it.
fn script(
    pods: Vec<Pod>,
    gate: &Arc<Notify>,
    then: impl Stream<Item = Event<Pod>> + Send + 'static,
) -> impl Stream<Item = watcher::Result<Event<Pod>>> + Send + 'static {
    let gate = Arc::clone(gate);
    let opened = stream::once(async move { gate.notified().await }).filter_map(|()| async { None });
    listed(pods).chain(opened).chain(then).map(Ok)
}

fn listed(pods: Vec<Pod>) -> impl Stream<Item = Event<Pod>> + Send {
    let items = pods.into_iter().map(Event::InitApply);
    stream::iter([Event::Init])
        .chain(stream::iter(items))
        .chain(stream::iter([Event::InitDone]))
}

/// A store that something fills and keeps.
#[derive(Debug)]
pub struct Filled {
    /// The store.
    pub store: Store<Pod>,
    task: JoinHandle<()>,
}

impl Drop for Filled {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A store that holds so many pods.
pub async fn filled(objects: usize) -> Outcome<Filled> {
    let gate = Arc::new(Notify::new());
    kept(script(pods::pods(objects, 1), &gate, stream::pending())).await
}

async fn kept(events: impl Stream<Item = watcher::Result<Event<Pod>>> + Send + 'static) -> Outcome<Filled> {
    let (store, writer) = reflector::store();
    let task = tokio::spawn(reflector(writer, events).for_each(|_| async {}));
    let filled = Filled { store, task };
    filled.store.wait_until_ready().await?;
    Ok(filled)
}

/// The keys of all pods in an order without pattern.
fn keys(objects: usize) -> Arc<[ObjectRef<Pod>]> {
    pods::order(objects)
        .into_iter()
        .map(|number| ObjectRef::new(&pods::name(number)).within(&pods::namespace(number)))
        .collect()
}
