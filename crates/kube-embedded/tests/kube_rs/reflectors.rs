//! kube's reflector becomes equal to the server after all faults.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::reflector::{self, Store};
use kube::runtime::watcher::{self, watcher};
use kube::{Client, ResourceExt as _};
use kube_embedded::{Fault, On, Server};
use serde_json::json;

use crate::clients::{clients, config_map};

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what)
        .await
        .expect("completion within twenty seconds")
}

struct TestReflector {
    store: Store<ConfigMap>,
    updates: Pin<Box<dyn Stream<Item = Result<watcher::Event<ConfigMap>, watcher::Error>> + Send>>,
}

impl TestReflector {
    fn start(client: &Client, config: watcher::Config) -> TestReflector {
        let (store, writer) = reflector::store();
        let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
        // Without backoff, so that it retries immediately.
        TestReflector {
            store,
            updates: watcher(api, config).reflect(writer).boxed(),
        }
    }

    /// Polls until the store equals the server's list. Returns the number of errors.
    async fn catch_up(&mut self, server: &Server) -> usize {
        self.catch_up_to(versions(server).await).await
    }

    async fn catch_up_to(&mut self, wanted: Versions) -> usize {
        let mut errors = 0;
        soon(async {
            while versions_of(self.store.state().iter().map(|o| &**o)) != wanted {
                errors += usize::from(self.updates.next().await.expect("no end").is_err());
            }
        })
        .await;
        errors
    }
}

type Versions = BTreeMap<String, Option<String>>;

fn versions_of<'a>(objects: impl Iterator<Item = &'a ConfigMap>) -> Versions {
    objects.map(|o| (o.name_any(), o.resource_version())).collect()
}

/// Returns the versions of the server's objects.
async fn versions(server: &Server) -> Versions {
    let direct: Api<ConfigMap> = Api::default_namespaced(server.direct_client());
    versions_of(direct.list(&ListParams::default()).await.expect("a list").iter())
}

/// Adds one object, changes one, and deletes one.
async fn change_objects(server: &Server, nth: usize) {
    let api: Api<ConfigMap> = Api::default_namespaced(server.direct_client());
    let [old, new] = [nth, nth + 1].map(|n| format!("object-{n}"));
    api.create(&PostParams::default(), &config_map(&new, "1"))
        .await
        .expect("an object");
    let patch = Patch::Merge(json!({ "data": { "value": new } }));
    api.patch("changing", &PatchParams::default(), &patch)
        .await
        .expect("an object");
    api.delete(&old, &DeleteParams::default())
        .await
        .expect("an object");
}

async fn server_with_objects() -> Server {
    let server = Server::start().await.expect("a server");
    let api: Api<ConfigMap> = Api::default_namespaced(server.direct_client());
    for name in ["changing", "lasting", "object-0"] {
        api.create(&PostParams::default(), &config_map(name, "0"))
            .await
            .expect("an object");
    }
    server
}

fn strategies() -> [watcher::Config; 2] {
    [
        watcher::Config::default().page_size(1),
        watcher::Config::default().streaming_lists(),
    ]
}

#[tokio::test]
async fn a_reflector_recovers_from_all_ends_of_watches() {
    for strategy in strategies() {
        let server = server_with_objects().await;
        let mut disturbances = 0..;
        for (way, client) in clients(&server) {
            let mut reflected = TestReflector::start(&client, strategy.clone());
            reflected.catch_up(&server).await;
            for end in [
                Fault::CutAfterEvents(1),
                Fault::CutAfterBytes(1000),
                Fault::CloseAfterEvents(1),
                Fault::ExpireAfterEvents(2),
                Fault::ErrorAfterEvents(1),
                Fault::BrokenJson(1),
                Fault::expired(),
                Fault::unavailable(),
                Fault::Drop,
                Fault::Compact,
                Fault::DuplicateEvents,
            ] {
                let name = format!("{way} {strategy:?} {end:?}");
                let rule = server.faults().add(On::watch("configmaps").once(), end);
                server.cut_connections();
                for nth in disturbances.by_ref().take(3) {
                    change_objects(&server, nth).await;
                    reflected.catch_up(&server).await;
                }
                assert_eq!(rule.hits(), 1, "{name}");
            }
        }
    }
}

#[tokio::test]
async fn a_reflector_recovers_from_failed_lists() {
    for strategy in strategies() {
        let server = server_with_objects().await;
        let wanted = versions(&server).await;
        for (way, client) in clients(&server) {
            let script = server.faults().script(
                On::list_or_watch("configmaps"),
                [
                    Fault::unavailable(),
                    Fault::too_many_requests(1),
                    Fault::Drop,
                    Fault::CutAfterBytes(100),
                    Fault::internal_error(),
                ],
            );
            let mut reflected = TestReflector::start(&client, strategy.clone());
            let errors = reflected.catch_up_to(wanted.clone()).await;
            assert_eq!(script.hits(), 5, "{way} {strategy:?}");
            // kube does not report a stream that breaks.
            assert!((4..=5).contains(&errors), "{errors} errors, {way} {strategy:?}");
        }
    }
}

#[tokio::test]
async fn a_reflector_recovers_from_an_outage() {
    for strategy in strategies() {
        let server = server_with_objects().await;
        for (way, client) in clients(&server) {
            let mut reflected = TestReflector::start(&client, strategy.clone());
            reflected.catch_up(&server).await;
            server.go_down().await;
            // The watch breaks, and the first attempts to reconnect fail.
            for _ in 0..3 {
                soon(async { while reflected.updates.next().await.expect("no end").is_ok() {} }).await;
            }
            let added = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": format!("added-{way}"), "namespace": "default" },
            });
            server.load([added]).expect("an object");
            server.restart().await.expect("the same port");
            reflected.catch_up(&server).await;
        }
    }
}

#[tokio::test]
async fn a_reflector_recovers_from_compaction_while_disconnected() {
    for strategy in strategies() {
        let server = server_with_objects().await;
        for (nth, (way, client)) in (0..).zip(clients(&server)) {
            let mut reflected = TestReflector::start(&client, strategy.clone());
            reflected.catch_up(&server).await;
            server.cut_connections();
            change_objects(&server, nth).await;
            server.compact_history();
            let errors = reflected.catch_up(&server).await;
            assert!(errors >= 1, "{way}: the expired version is reported");
        }
    }
}

/// kube's reflector does not detect decreasing versions, so it may keep the lost objects. The server must close the
/// watches and return the restored objects to a new list.
#[tokio::test]
async fn a_new_reflector_gets_a_restored_backup() {
    let server = server_with_objects().await;
    for (_, client) in clients(&server) {
        let backup = server.backup();
        change_objects(&server, 0).await;
        server.restore(&backup);
        let mut reflected = TestReflector::start(&client, watcher::Config::default());
        reflected.catch_up(&server).await;
    }
}
