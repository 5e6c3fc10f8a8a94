//! Reconnecting to a server that was unavailable.

use kube_embedded::{Fault, On};

use super::cluster::{Cluster, config_map, pod};
use super::program::Program;

#[tokio::test]
async fn a_lost_and_a_restored_connection_are_reported_once() {
    let cluster = Cluster::start().await;
    cluster.put(config_map("default", "colours", "red"));
    cluster.put(pod("web-1", "north", "web:1"));
    let mut program = Program::start(&cluster, &["watch", "cm,pods"]);
    program.until("pod/web-1").await;

    cluster.server.go_down().await;
    let note = program.note().await;
    assert!(note.starts_with("lost connection: "), "{note}");
    assert!(
        note.contains(&cluster.server.url()) && note.ends_with("; retrying"),
        "{note}"
    );

    cluster.put(config_map("default", "colours", "blue"));
    cluster.server.restart().await.expect("the same port");
    let note = program.note().await;
    assert!(note.starts_with("reconnected after "), "{note}");
    let row = program.line().await;
    assert!(
        row.starts_with("~ configmap/colours ") && row.ends_with("data.key: red → blue"),
        "{row}"
    );

    let ended = program.interrupt().await;
    assert_eq!((ended.code, ended.notes.as_str()), (Some(0), ""));
}

#[tokio::test]
async fn retries_are_not_reported() {
    let cluster = Cluster::start().await;
    cluster.put(config_map("default", "colours", "red"));
    cluster.put(pod("web-1", "north", "web:1"));
    let mut program = Program::start(&cluster, &["watch", "cm,pods"]);
    program.until("pod/web-1").await;

    for resource in ["configmaps", "pods"] {
        let refused = On::list_or_watch(resource);
        cluster.server.faults().add(refused, Fault::unavailable());
    }
    cluster.server.cut_connections();
    let note = program.note().await;
    assert!(
        note.starts_with("lost connection: ") && note.contains("503"),
        "{note}"
    );
    let mut last = 0;
    for resource in ["configmaps", "pods", "configmaps", "pods"] {
        let again = cluster.server.wait_for_request(|request| {
            request.number > last && request.resource == resource && !request.faults.is_empty()
        });
        last = again.await.number;
    }
    cluster.server.faults().clear();
    let note = program.note().await;
    assert!(note.starts_with("reconnected after "), "{note}");
    let ended = program.interrupt().await;
    assert_eq!((ended.code, ended.notes.as_str()), (Some(0), ""));
}
