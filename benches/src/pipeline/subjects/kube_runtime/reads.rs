//! Reads of the store. It has no index and does not group by namespace, so each read filters all objects.

use std::hint::black_box;
use std::sync::Arc;

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::reflector::Store;
use kube::runtime::watcher::Event;
use tokio::sync::Notify;

use super::{kept, keys, script};
use crate::Outcome;
use crate::measure::{per_call, per_call_in};
use crate::pipeline::pods;
use crate::pipeline::scenario::PipelineSize;
use crate::report::Report;

pub(super) async fn run(report: Report, size: PipelineSize) -> Outcome {
    let gate = Arc::new(Notify::new());
    // Without a pause the reflector's task would never yield its thread.
    let updates = stream::iter(pods::updates(size.objects(), 1).map(Event::Apply)).then(|event| async {
        tokio::task::consume_budget().await;
        event
    });
    let filled = kept(script(pods::pods(size.objects(), 1), &gate, updates)).await?;
    let store = filled.store.clone();
    tokio::task::spawn_blocking(move || read(report, size, &store, "")).await?;
    gate.notify_one();
    let store = filled.store.clone();
    tokio::task::spawn_blocking(move || read(report, size, &store, ", busy writer")).await?;
    Ok(())
}

fn read(report: Report, size: PipelineSize, store: &Store<Pod>, when: &str) {
    let keys = keys(size.objects());
    let get = per_call(size.gets(), |call| {
        black_box(store.get(&keys[call % keys.len()])).expect("every pod is there");
    });
    report.calls(&format!("get{when}"), get);

    // Each call reads every object, so a few calls are enough.
    let calls = size.lists() / 10;
    let namespaces: Vec<String> = (0..pods::GROUPS).map(pods::namespace).collect();
    let list = per_call_in(1, calls, |call| {
        let namespace = &namespaces[call % pods::GROUPS];
        black_box(store.state_filter(|pod| pod.metadata.namespace.as_ref() == Some(namespace)));
    });
    report.calls(&format!("list of a namespace{when}"), list);

    let nodes: Vec<String> = (0..pods::GROUPS)
        .map(|node| pods::node(node * pods::GROUPS))
        .collect();
    let by_index = per_call_in(1, calls, |call| {
        let node = &nodes[call % pods::GROUPS];
        let on_node = |pod: &Pod| {
            pod.spec
                .as_ref()
                .is_some_and(|spec| spec.node_name.as_ref() == Some(node))
        };
        black_box(store.state_filter(on_node));
    });
    report.calls(&format!("by index{when}"), by_index);
}
