//! Reads of the cache.

use std::hint::black_box;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube_informer::{Index, Lister, Selector};
use tokio::sync::Notify;

use super::script::Script;
use super::{informer, synced, updates};
use crate::Outcome;
use crate::measure::{per_call, per_call_in};
use crate::pipeline::pods;
use crate::pipeline::scenario::PipelineSize;
use crate::report::Report;

pub(super) async fn run(report: Report, size: PipelineSize) -> Outcome {
    let script = Script::new();
    script.will_list(pods::pods(size.objects(), 1), 1);
    let gate = Arc::new(Notify::new());
    script.will_watch(&gate, updates(size.objects()));
    let informer = synced(informer(&script)).await?;
    let by_node = informer.index("node", |pod: &Pod| {
        pod.spec.as_ref().and_then(|spec| spec.node_name.clone())
    })?;

    let (lister, index) = (informer.lister(), by_node.clone());
    tokio::task::spawn_blocking(move || read(report, size, &lister, &index, "")).await?;
    gate.notify_one();
    let (lister, index) = (informer.lister(), by_node);
    tokio::task::spawn_blocking(move || read(report, size, &lister, &index, ", busy writer")).await?;
    informer.shutdown().await;
    Ok(())
}

fn read(report: Report, size: PipelineSize, lister: &Lister<Pod>, by_node: &Index<Pod, String>, when: &str) {
    let keys: Vec<(String, String)> = pods::order(size.objects())
        .into_iter()
        .map(|number| (pods::namespace(number), pods::name(number)))
        .collect();
    let get = per_call(size.gets(), |call| {
        let (namespace, name) = &keys[call % keys.len()];
        black_box(lister.namespace(namespace).get(name)).expect("every pod is there");
    });
    report.calls(&format!("get{when}"), get);

    let namespaces: Vec<String> = (0..pods::GROUPS).map(pods::namespace).collect();
    let list = per_call_in(10, size.lists(), |call| {
        let namespace = &namespaces[call % pods::GROUPS];
        black_box(lister.namespace(namespace).list(&Selector::everything()));
    });
    report.calls(&format!("list of a namespace{when}"), list);

    let nodes: Vec<String> = (0..pods::GROUPS)
        .map(|node| pods::node(node * pods::GROUPS))
        .collect();
    let by_index = per_call_in(10, size.lists(), |call| {
        black_box(by_node.get(nodes[call % pods::GROUPS].as_str()));
    });
    report.calls(&format!("by index{when}"), by_index);
}
