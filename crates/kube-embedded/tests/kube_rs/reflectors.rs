//! kube's reflector ends equal to the server, whatever happens on the way.

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

use crate::ways::{clients, config_map};

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what)
        .await
        .expect("something within twenty seconds")
}

struct Reflected {
    store: Store<ConfigMap>,
    updates: Pin<Box<dyn Stream<Item = Result<watcher::Event<ConfigMap>, watcher::Error>> + Send>>,
}

impl Reflected {
    fn start(client: &Client, config: watcher::Config) -> Reflected {
        let (store, writer) = reflector::store();
        let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
        // Without backoff: it tries again at once, which is what a test wants.
        Reflected {
            store,
            updates: watcher(api, config).reflect(writer).boxed(),
        }
    }

    /// Goes on until the store equals the server's list. Counts the errors on the way.
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

/// What the server has.
async fn versions(server: &Server) -> Versions {
    let direct: Api<ConfigMap> = Api::default_namespaced(server.direct_client());
    versions_of(direct.list(&ListParams::default()).await.expect("a list").iter())
}

/// Adds one object, changes one, deletes one.
async fn disturb(server: &Server, nth: usize) {
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

async fn furnished() -> Server {
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
async fn a_reflector_survives_every_end_of_a_watch() {
    for strategy in strategies() {
        let server = furnished().await;
        let mut disturbances = 0..;
        for (way, client) in clients(&server) {
            let mut reflected = Reflected::start(&client, strategy.clone());
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
                    disturb(&server, nth).await;
                    reflected.catch_up(&server).await;
                }
                assert_eq!(rule.hits(), 1, "{name}");
            }
        }
    }
}

#[tokio::test]
async fn a_reflector_survives_lists_that_fail() {
    for strategy in strategies() {
        let server = furnished().await;
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
            let mut reflected = Reflected::start(&client, strategy.clone());
            let errors = reflected.catch_up_to(wanted.clone()).await;
            assert_eq!(script.hits(), 5, "{way} {strategy:?}");
            // kube keeps quiet about a stream that breaks off.
            assert!((4..=5).contains(&errors), "{errors} errors, {way} {strategy:?}");
        }
    }
}

#[tokio::test]
async fn a_reflector_survives_the_server_going_down() {
    for strategy in strategies() {
        let server = furnished().await;
        for (way, client) in clients(&server) {
            let mut reflected = Reflected::start(&client, strategy.clone());
            reflected.catch_up(&server).await;
            server.go_down().await;
            // The watch breaks, and the first attempts to come back fail.
            for _ in 0..3 {
                soon(async { while reflected.updates.next().await.expect("no end").is_ok() {} }).await;
            }
            let meanwhile = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": format!("meanwhile-{way}"), "namespace": "default" },
            });
            server.load([meanwhile]).expect("an object");
            server.restart().await.expect("the same port");
            reflected.catch_up(&server).await;
        }
    }
}

#[tokio::test]
async fn a_reflector_survives_compaction_while_it_is_away() {
    for strategy in strategies() {
        let server = furnished().await;
        for (nth, (way, client)) in (0..).zip(clients(&server)) {
            let mut reflected = Reflected::start(&client, strategy.clone());
            reflected.catch_up(&server).await;
            server.cut_connections();
            disturb(&server, nth).await;
            server.compact_history();
            let errors = reflected.catch_up(&server).await;
            assert!(
                errors >= 1,
                "{way}: the old version is expired, and its user told so"
            );
        }
    }
}

/// kube's reflector cannot see that versions went back: that it may stay on the lost objects is known of it. What the
/// server has to do is to break the watches and to answer a new list with what there is.
#[tokio::test]
async fn a_new_reflector_sees_a_restored_backup() {
    let server = furnished().await;
    for (_, client) in clients(&server) {
        let backup = server.backup();
        disturb(&server, 0).await;
        server.restore(&backup);
        let mut reflected = Reflected::start(&client, watcher::Config::default());
        reflected.catch_up(&server).await;
    }
}
