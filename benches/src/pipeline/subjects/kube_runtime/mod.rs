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
use crate::pipeline::scenario::{PipelineScenario, PipelineSize};
use crate::report::Report;

/// Runs a scenario and prints its measurements.
pub async fn run(scenario: PipelineScenario, size: PipelineSize) -> Outcome {
    let report = Report::of("kube-runtime");
    match scenario {
        PipelineScenario::Events => events::run(report, size).await,
        PipelineScenario::Reads => reads::run(report, size).await,
        PipelineScenario::Pauses => pauses::run(report, size).await,
        // A late subscriber does not receive existing objects.
        PipelineScenario::Joins => Ok(()),
        PipelineScenario::Memory => Err("memory is measured by the program `memory`".into()),
    }
}

/// Returns the events of a watcher: a list, and after `gate` is notified, the updates.
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

/// A store and the task that fills it.
#[derive(Debug)]
pub struct FilledStore {
    /// The store.
    pub store: Store<Pod>,
    task: JoinHandle<()>,
}

impl Drop for FilledStore {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns a store with a number of pods.
pub async fn filled(objects: usize) -> Outcome<FilledStore> {
    let gate = Arc::new(Notify::new());
    kept(script(pods::pods(objects, 1), &gate, stream::pending())).await
}

async fn kept(
    events: impl Stream<Item = watcher::Result<Event<Pod>>> + Send + 'static,
) -> Outcome<FilledStore> {
    let (store, writer) = reflector::store();
    let task = tokio::spawn(reflector(writer, events).for_each(|_| async {}));
    let filled = FilledStore { store, task };
    filled.store.wait_until_ready().await?;
    Ok(filled)
}

/// Returns the keys of all pods in a pseudorandom order.
fn keys(objects: usize) -> Arc<[ObjectRef<Pod>]> {
    pods::order(objects)
        .into_iter()
        .map(|number| ObjectRef::new(&pods::name(number)).within(&pods::namespace(number)))
        .collect()
}
