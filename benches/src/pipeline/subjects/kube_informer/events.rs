//! Events through the whole pipeline.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube_informer::{Event, HandlerOptions, ResourceVersion};
use tokio::sync::Notify;

use super::script::Script;
use super::{informer, synced, updates};
use crate::Outcome;
use crate::clock::{ElapsedTime, Stopwatch};
use crate::measure::Countdown;
use crate::pipeline::pods;
use crate::pipeline::scenario::PipelineSize;
use crate::report::Report;

pub(super) async fn run(report: Report, size: PipelineSize) -> Outcome {
    let (handlers, events) = (size.handlers, size.events());
    let all = HandlerOptions::new().every_event().never_blocks();
    let took = measure(size, all, StopCondition::Every(events)).await?;
    report.events(handlers, "", events, took);

    let blocking = HandlerOptions::new().every_event();
    let took = measure(size, blocking, StopCondition::Every(events)).await?;
    report.events(handlers, ", may block", events, took);

    let coalescing = HandlerOptions::new();
    let took = measure(size, coalescing, StopCondition::Last).await?;
    report.events(handlers, ", may block, coalescing", events, took);
    Ok(())
}

/// The end of a measurement.
#[derive(Clone, Copy)]
enum StopCondition {
    /// After this number of updates.
    Every(usize),
    /// After the last update of each object.
    Last,
}

async fn measure(size: PipelineSize, options: HandlerOptions, until: StopCondition) -> Outcome<ElapsedTime> {
    let (keys, events) = (size.keys(), size.events());
    let script = Script::new();
    script.will_list(pods::pods(keys, 1), 1);
    let gate = Arc::new(Notify::new());
    // Decoded before the measurement starts, like for the peers.
    let updates: Vec<_> = updates(keys).take(events).collect();
    script.will_watch(&gate, updates.into_iter());
    let informer = synced(informer(&script)).await?;

    let done = Countdown::of(size.handlers);
    // The updates of the last round: one of each object.
    let last_round = ResourceVersion::from((events - keys + 2).to_string().as_str());
    let mut registrations = Vec::new();
    for _ in 0..size.handlers {
        let (done, last_round) = (done.clone(), last_round.clone());
        let mut left = match until {
            StopCondition::Every(events) => events,
            StopCondition::Last => keys,
        };
        let handler = move |event: Event<Pod>| {
            let Event::Updated { new, .. } = &event else {
                return;
            };
            if matches!(until, StopCondition::Every(_)) || !new.version().is_before(&last_round) {
                left -= 1;
                if left == 0 {
                    done.one_is_done();
                }
            }
        };
        registrations.push(informer.add_handler_with(handler, options.clone())?);
    }
    for registration in &registrations {
        registration.synced().await?;
    }

    let watch = Stopwatch::start();
    gate.notify_one();
    done.all_are_done().await;
    let took = watch.stop();
    informer.shutdown().await;
    Ok(took)
}
