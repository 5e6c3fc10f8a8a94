//! Outages of the whole server: down, cut connections, compaction, restored backups.

use http::Method;
use kube_embedded::Server;
use serde_json::json;
use tokio::net::TcpStream;

use crate::wire::{MAPS, Next, STREAMING_LIST, Transport, Wire, put, server_with_objects, soon, watch_from};

#[tokio::test]
async fn connections_are_refused_until_a_restart() {
    let server = server_with_objects().await;
    for transport in Transport::ALL {
        let mut wire = Wire::connect(&server, transport).await;
        let mut events = wire.watch(&watch_from(server.resource_version())).await;
        server.go_down().await;
        assert_eq!(events.next().await, Next::Broken("".into()), "{transport:?}");
        assert!(
            wire.send(Method::GET, MAPS, &[], "").await.is_err(),
            "{transport:?}"
        );
        let refused = TcpStream::connect(server.address())
            .await
            .expect_err("no connection");
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        let direct = server.direct_client().apiserver_version().await;
        assert!(direct.is_err(), "{direct:?}");
        server.restart().await.expect("the same port");
        assert_eq!(
            Wire::connect(&server, transport).await.get(MAPS).await.names(),
            ["a", "b", "c"]
        );
        server
            .direct_client()
            .apiserver_version()
            .await
            .expect("a version");
    }
    server.restart().await.expect("a restart of a running server");
    server.go_down().await;
    server.go_down().await;
    server.restart().await.expect("the same port");
    Wire::connect(&server, Transport::Http1)
        .await
        .get(MAPS)
        .await
        .json();
}

#[tokio::test]
async fn connections_are_cut_and_new_ones_accepted() {
    let server = server_with_objects().await;
    for transport in Transport::ALL {
        let mut wire = Wire::connect(&server, transport).await;
        let mut events = wire.watch(STREAMING_LIST).await;
        while events.expect().await != "BOOKMARK end" {}
        server.cut_connections();
        assert_eq!(events.next().await, Next::Broken("".into()), "{transport:?}");
        assert!(
            wire.send(Method::GET, MAPS, &[], "").await.is_err(),
            "{transport:?}"
        );
        Wire::connect(&server, transport).await.get(MAPS).await.json();
    }
}

#[tokio::test]
async fn earlier_versions_get_410_after_compaction() {
    let server = server_with_objects().await;
    let mut wire = Wire::connect(&server, Transport::Http2).await;
    let from = server.resource_version();
    put(&server, "d", "1");
    server.compact_history();
    assert_eq!(wire.watch(&watch_from(from)).await.rest().await, ["ERROR 410"]);
    let exact = format!("{MAPS}?resourceVersion={from}&resourceVersionMatch=Exact");
    assert_eq!(wire.get(&exact).await.failure(), (410, "Expired".into()));
    // The history of a resource without objects is compacted, too.
    let leases =
        format!("/apis/coordination.k8s.io/v1/leases?watch=1&timeoutSeconds=600&resourceVersion={from}");
    assert_eq!(wire.watch(&leases).await.rest().await, ["ERROR 410"]);
    let mut events = wire.watch(&watch_from(server.resource_version())).await;
    put(&server, "e", "1");
    assert_eq!(events.expect().await, "ADDED e");
    assert_eq!(wire.get(MAPS).await.names(), ["a", "b", "c", "d", "e"]);
}

#[tokio::test]
async fn compaction_does_not_affect_open_watches() {
    let server = server_with_objects().await;
    let mut wire = Wire::connect(&server, Transport::Http2).await;
    let mut events = wire.watch(&watch_from(server.resource_version())).await;
    put(&server, "d", "1");
    assert_eq!(events.expect().await, "ADDED d");
    // The version increases without a change for this watch.
    server.advance_resource_version(10);
    server.compact_history();
    put(&server, "e", "1");
    assert_eq!(events.expect().await, "ADDED e");
}

#[tokio::test]
async fn a_backup_restores_objects_and_versions() {
    let server = server_with_objects().await;
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let before = wire.get(MAPS).await;
    let backup = server.backup();
    put(&server, "a", "2");
    put(&server, "d", "1");
    server.load([crd()]).expect("a definition");
    wire.request_json(Method::DELETE, &format!("{MAPS}/b"), "").await;
    let after = wire.get(MAPS).await;
    assert!(after.version() > before.version());
    let mut events = wire.watch(&watch_from(after.version())).await;
    server.restore(&backup);
    assert_eq!(events.next().await, Next::Broken("".into()));
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    assert_eq!(wire.get(MAPS).await.json(), before.json());
    assert_eq!(server.resource_version(), before.version());
    assert_eq!(wire.get("/apis/example.com/v1/things").await.code, 404);
    // Versions are reused for other changes.
    put(&server, "z", "1");
    assert_eq!(wire.get(MAPS).await.version(), before.version() + 1);
    // The history before the backup is lost; later changes are sent.
    assert_eq!(
        wire.watch(&watch_from(before.version() - 1)).await.rest().await,
        ["ERROR 410"]
    );
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let mut events = wire.watch(&watch_from(before.version())).await;
    assert_eq!(events.expect().await, "ADDED z");
    // Versions after the backup are in the future.
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let ahead = wire
        .get(&format!("{MAPS}?resourceVersion={}", after.version()))
        .await;
    assert_eq!(ahead.failure(), (504, "Timeout".into()));
    // A backup can be restored again.
    server.restore(&backup);
    assert_eq!(
        Wire::connect(&server, Transport::Http1)
            .await
            .get(MAPS)
            .await
            .json(),
        before.json()
    );
}

fn crd() -> serde_json::Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.example.com" },
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": { "plural": "things", "singular": "thing", "kind": "Thing" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } },
            }],
        },
    })
}

#[tokio::test]
async fn the_version_can_be_advanced_without_a_write() {
    let server = server_with_objects().await;
    let mut wire = Wire::connect(&server, Transport::Http1).await;
    let before = wire.get(MAPS).await;
    let ahead = format!(
        "{MAPS}?resourceVersion={}&resourceVersionMatch=NotOlderThan",
        before.version() + 100
    );
    let (answer, ()) = tokio::join!(wire.get(&ahead), async {
        server
            .wait_for_request(|r| r.param("resourceVersionMatch").is_some())
            .await;
        server.advance_resource_version(100);
    });
    assert_eq!(
        (answer.version(), answer.names()),
        (before.version() + 100, before.names())
    );
    assert_eq!(server.resource_version(), before.version() + 100);
    put(&server, "d", "1");
    assert_eq!(server.resource_version(), before.version() + 101);
}

#[tokio::test]
async fn loaded_objects_are_counted() {
    let server: Server = server_with_objects().await;
    assert_eq!(
        (server.count("configmaps"), server.count("deployments.apps")),
        (3, 0)
    );
    assert!(server.size("configmaps") > 300);
    let wrong = server.load([json!({ "apiVersion": "v1", "kind": "Nothing", "metadata": { "name": "x" } })]);
    let error = wrong.expect_err("no such kind").to_string();
    assert!(error.contains("Nothing \"x\""), "{error}");
    assert_eq!(server.count("configmaps"), 3);
    soon(server.stop()).await;
}
