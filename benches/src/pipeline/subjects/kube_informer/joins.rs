//! The effect of adding a handler on another handler.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube_informer::{Event, HandlerOptions};
use tokio::sync::Notify;

use super::script::Script;
use super::{informer, synced, updates};
use crate::Outcome;
use crate::measure::Gaps;
use crate::pipeline::pods;
use crate::pipeline::scenario::{BASELINE_DURATION, PipelineSize};
use crate::report::Report;

pub(super) async fn run(report: Report, size: PipelineSize) -> Outcome {
    let script = Script::new();
    script.will_list(pods::pods(size.objects(), 1), 1);
    let gate = Arc::new(Notify::new());
    script.will_watch(&gate, updates(size.objects()));
    let informer = synced(informer(&script)).await?;
    let gaps = Gaps::new();
    let seen = gaps.clone();
    let all = HandlerOptions::new().every_event().never_blocks();
    let first = informer.add_handler_with(move |_: Event<Pod>| seen.delivered(), all)?;
    first.synced().await?;
    gate.notify_one();
    tokio::time::sleep(BASELINE_DURATION).await;

    let (mut alone, mut joined) = (Vec::new(), Vec::new());
    for _ in 0..size.tries() {
        tokio::time::sleep(BASELINE_DURATION).await;
        let _ = gaps.take_longest();
        tokio::time::sleep(BASELINE_DURATION).await;
        alone.push(gaps.take_longest());

        let late = informer.add_handler(|_: Event<Pod>| ())?;
        // At least as long as without a new handler, and longer if adding the handler takes longer.
        tokio::time::sleep(BASELINE_DURATION).await;
        late.synced().await?;
        joined.push(gaps.take_longest());
        late.remove_and_wait().await;
    }
    report.waits("longest gap, no new handler", alone);
    report.waits("longest gap, a new handler", joined);
    informer.shutdown().await;
    Ok(())
}
