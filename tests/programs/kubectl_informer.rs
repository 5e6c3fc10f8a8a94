//! `kubectl-informer` on either server. Its own crate has more tests, on the embedded one.

use conformance::TestServer;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use super::program::ProgramProcess;
use super::{api, make, map, resource, stateful_set};

#[tokio::test]
async fn watch_prints_existing_objects_and_changes() {
    let server = TestServer::alone().await;
    let namespace = server.namespace.as_str();
    let sets = resource("apps", "v1", "StatefulSet");
    make(&server, &sets, stateful_set("db")).await;
    let mut program = ProgramProcess::kubectl_informer(&server, &["watch", "sts", "-n", namespace]).await;
    assert_eq!(program.line().await, "  NAME   READY   AGE");
    let row = program.line().await;
    assert!(row.starts_with("  db     0/1     "), "{row}");

    make(&server, &sets, stateful_set("queue")).await;
    assert!(program.line().await.starts_with("+ queue   0/1     "));
    let scale = Patch::Merge(json!({ "spec": { "replicas": 3 } }));
    let scaled = api(&server, &sets)
        .patch("db", &PatchParams::default(), &scale)
        .await;
    scaled.expect("an object");
    let row = program.until("~ db").await;
    assert!(row.starts_with("~ db      0/3     "), "{row}");
    assert!(row.ends_with("   spec.replicas: 1 → 3"), "{row}");
    let deleted = api(&server, &sets)
        .delete("queue", &DeleteParams::default())
        .await;
    deleted.expect("an object");
    program.until("- queue ").await;
    program.stop().await;
}

#[tokio::test]
async fn get_selects_by_an_index() {
    let server = TestServer::alone().await;
    let maps = resource("", "v1", "ConfigMap");
    for (name, team) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        let mut object = map(name);
        object["metadata"]["labels"] = json!({ "example.com/team": team });
        make(&server, &maps, object).await;
    }
    let words = [
        "get",
        "cm",
        "-n",
        &server.namespace,
        "--index",
        r"team=.metadata.labels.example\.com/team",
        "--by",
        "team=red",
        "-o",
        "name",
    ];
    let mut program = ProgramProcess::kubectl_informer(&server, &words).await;
    assert_eq!(program.line().await, "configmap/a");
    assert_eq!(program.line().await, "configmap/c");
}
