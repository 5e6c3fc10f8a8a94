//! A server that goes away and comes back.

use kube_embedded::{Fault, On};

use super::cluster::{Cluster, config_map, pod};
use super::program::Program;

#[tokio::test]
async fn a_server_that_goes_and_comes_back_is_told_of_once_each() {
    let cluster = Cluster::start().await;
    cluster.put(config_map("default", "colours", "red"));
    cluster.put(pod("web-1", "north", "web:1"));
    let mut program = Program::start(&cluster, &["watch", "cm,pods"]);
    program.until("pod/web-1").await;

    cluster.server.go_down().await;
    let note = program.note().await;
    assert!(note.starts_with("lost contact: "), "{note}");
    assert!(
        note.contains(&cluster.server.url()) && note.ends_with("; trying again"),
        "{note}"
    );

    cluster.put(config_map("default", "colours", "blue"));
    cluster.server.come_back().await.expect("the same port");
    let note = program.note().await;
    assert!(note.starts_with("contact is back after "), "{note}");
    let row = program.line().await;
    assert!(
        row.starts_with("~ configmap/colours ") && row.ends_with("data.key: red → blue"),
        "{row}"
    );

    let ended = program.interrupt().await;
    assert_eq!((ended.code, ended.notes.as_str()), (Some(0), ""));
}

#[tokio::test]
async fn however_often_it_is_tried_again_it_is_told_once() {
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
        note.starts_with("lost contact: ") && note.contains("503"),
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
    assert!(note.starts_with("contact is back after "), "{note}");
    let ended = program.interrupt().await;
    assert_eq!((ended.code, ended.notes.as_str()), (Some(0), ""));
}
