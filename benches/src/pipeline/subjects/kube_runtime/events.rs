//! Events through the reflector.

use std::sync::Arc;

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::{self, reflector};
use kube::runtime::watcher::Event;
use tokio::sync::Notify;

use super::script;
use crate::Outcome;
use crate::clock::{ElapsedTime, Stopwatch};
use crate::measure::Countdown;
use crate::pipeline::pods;
use crate::pipeline::scenario::PipelineSize;
use crate::report::Report;

/// The buffer of kube's own examples.
const BUFFER: usize = 256;

pub(super) async fn run(report: Report, size: PipelineSize) -> Outcome {
    let took = match size.handlers {
        1 => alone(size).await,
        _ => shared(size).await?,
    };
    report.events(size.handlers, "", size.events(), took);
    Ok(())
}

fn updates(size: PipelineSize) -> Vec<Event<Pod>> {
    pods::updates(size.keys(), 1)
        .take(size.events())
        .map(Event::Apply)
        .collect()
}

/// Counts objects: first those of the list, then the updates.
fn counter(size: PipelineSize, listed: Countdown, done: Countdown) -> impl FnMut() + Send {
    let mut seen = 0;
    move || {
        seen += 1;
        if seen == size.keys() {
            listed.one_is_done();
        }
        if seen == size.keys() + size.events() {
            done.one_is_done();
        }
    }
}

async fn alone(size: PipelineSize) -> ElapsedTime {
    let gate = Arc::new(Notify::new());
    let (listed, done) = (Countdown::of(1), Countdown::of(1));
    let mut count = counter(size, listed.clone(), done.clone());
    let events = script(pods::pods(size.keys(), 1), &gate, stream::iter(updates(size)));
    let (_store, writer) = reflector::store();
    let objects = reflector(writer, events).applied_objects();
    let task = tokio::spawn(objects.for_each(move |_| {
        count();
        std::future::ready(())
    }));
    listed.all_are_done().await;
    let watch = Stopwatch::start();
    gate.notify_one();
    done.all_are_done().await;
    let took = watch.stop();
    task.abort();
    took
}

async fn shared(size: PipelineSize) -> Outcome<ElapsedTime> {
    let gate = Arc::new(Notify::new());
    let (listed, done) = (Countdown::of(size.handlers), Countdown::of(size.handlers));
    let events = script(pods::pods(size.keys(), 1), &gate, stream::iter(updates(size)));
    let (_store, writer) = reflector::store_shared(BUFFER);
    let mut tasks = Vec::new();
    for _ in 0..size.handlers {
        let handle = writer.subscribe().ok_or("a shared store can be subscribed to")?;
        let mut count = counter(size, listed.clone(), done.clone());
        tasks.push(tokio::spawn(handle.for_each(move |_| {
            count();
            std::future::ready(())
        })));
    }
    tasks.push(tokio::spawn(reflector(writer, events).for_each(|_| async {})));
    listed.all_are_done().await;
    let watch = Stopwatch::start();
    gate.notify_one();
    done.all_are_done().await;
    let took = watch.stop();
    for task in tasks {
        task.abort();
    }
    Ok(took)
}
