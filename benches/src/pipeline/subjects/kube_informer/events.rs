//! Events through the whole pipeline.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube_informer::{Event, HandlerOptions, ResourceVersion};
use tokio::sync::Notify;

use super::script::Script;
use super::{informer, synced, updates};
use crate::Outcome;
use crate::clock::{Stopwatch, Took};
use crate::measure::Countdown;
use crate::pipeline::pods;
use crate::pipeline::scenario::Size;
use crate::report::Report;

pub(super) async fn run(report: Report, size: Size) -> Outcome {
    let (handlers, events) = (size.handlers, size.events());
    let all = HandlerOptions::new().every_event().never_blocks();
    let took = measure(size, all, Until::Every(events)).await?;
    report.events(handlers, "", events, took);

    let blocking = HandlerOptions::new().every_event();
    let took = measure(size, blocking, Until::Every(events)).await?;
    report.events(handlers, ", may block", events, took);

    let coalescing = HandlerOptions::new();
    let took = measure(size, coalescing, Until::Last).await?;
    report.events(handlers, ", may block, coalescing", events, took);
    Ok(())
}

/// When a handler has seen enough.
#[derive(Clone, Copy)]
enum Until {
    /// So many updates.
    Every(usize),
    /// The last update of each object, whatever else.
    Last,
}

async fn measure(size: Size, options: HandlerOptions, until: Until) -> Outcome<Took> {
    let (keys, events) = (size.keys(), size.events());
    let script = Script::new();
    script.will_list(pods::pods(keys, 1), 1);
    let gate = Arc::new(Notify::new());
    // Decoded before the clock starts, as the others' are.
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
            Until::Every(events) => events,
            Until::Last => keys,
        };
        let handler = move |event: Event<Pod>| {
            let Event::Updated { new, .. } = &event else {
                return;
            };
            if matches!(until, Until::Every(_)) || !new.version().is_before(&last_round) {
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
