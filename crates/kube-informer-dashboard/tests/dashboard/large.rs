//! Measures requests on a large cache. Run it with `--release -- --ignored --nocapture`.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube_informer::{CacheFormat, SharedInformer};
use kube_informer_dashboard::Dashboard;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{get_json, keys, server};

const PODS: usize = 100_000;

fn pod(at: usize) -> Value {
    let variables: Vec<Value> = (0..12)
        .map(|at| json!({ "name": format!("SETTING_{at}"), "value": format!("value of setting {at}") }))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "namespace": "many", "name": format!("pod-{at:06}"), "labels": { "app": format!("app-{}", at % 200) } },
        "spec": {
            "nodeName": format!("node-{}", at % 1_000),
            "containers": [{ "name": "main", "image": "app:1", "env": variables }],
        },
        "status": { "phase": "Running" },
    })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement that takes minutes"]
async fn a_look_into_a_hundred_thousand_pods() {
    let (server, client) = server().await;
    server.load((0..PODS).map(pod)).expect("pods");
    for form in [CacheFormat::Decoded, CacheFormat::Packed] {
        let pods = SharedInformer::<Pod>::builder(client.clone())
            .cache_format(form)
            .build();
        pods.index("node", |pod: &Pod| {
            pod.spec.as_ref().and_then(|spec| spec.node_name.clone())
        })
        .expect("an index");
        let router = Dashboard::new().browse(&pods).router();
        pods.start().expect("a start");
        pods.wait_for_sync(Duration::from_secs(10 * 60))
            .await
            .expect("a list");
        for (what, path, total) in [
            ("overview", "/api/overview", 0),
            ("first page", "/api/objects?informer=pods", PODS),
            ("middle page", "/api/objects?informer=pods&offset=50000", PODS),
            ("by name", "/api/objects?informer=pods&name=-0999", 100),
            ("by label", "/api/objects?informer=pods&labels=app%3Dapp-7", 500),
            ("by index", "/api/objects?informer=pods&index=node%3Dnode-7", 100),
            (
                "by field",
                "/api/objects?informer=pods&field=.spec.nodeName%3Dnode-7",
                100,
            ),
        ] {
            let began = Instant::now();
            let answer = get_json(&router, path).await;
            println!("{form:?}, {what}: {:?}", began.elapsed());
            if total > 0 {
                assert_eq!(answer["total"], total, "{what}");
                assert!(!keys(&answer).is_empty());
            }
        }
        pods.shutdown().await;
    }
}
