//! What a handler that joins late costs another.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube_informer::{Event, HandlerOptions};
use tokio::sync::Notify;

use super::script::Script;
use super::{informer, synced, updates};
use crate::Outcome;
use crate::measure::Gaps;
use crate::pipeline::pods;
use crate::pipeline::scenario::{Size, WHILE};
use crate::report::Report;

pub(super) async fn run(report: Report, size: Size) -> Outcome {
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
    tokio::time::sleep(WHILE).await;

    let (mut alone, mut joined) = (Vec::new(), Vec::new());
    for _ in 0..size.tries() {
        tokio::time::sleep(WHILE).await;
        let _ = gaps.take_longest();
        tokio::time::sleep(WHILE).await;
        alone.push(gaps.take_longest());

        let late = informer.add_handler(|_: Event<Pod>| ())?;
        // The same length as without a join, and longer if the join takes longer.
        tokio::time::sleep(WHILE).await;
        late.synced().await?;
        joined.push(gaps.take_longest());
        late.remove_and_wait().await;
    }
    report.waits("longest gap, nobody joins", alone);
    report.waits("longest gap, a handler joins", joined);
    informer.shutdown().await;
    Ok(())
}
