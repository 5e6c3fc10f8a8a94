//! A server that lags behind the informer: unchanged objects are not decoded or delivered again (contract
//! 10).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_embedded::{Fault, On, Server};
use kube_informer::{CacheFormat, Key, Object, SharedInformer};
use serde_json::json;
use tokio::time::sleep;

use crate::recording::LONG;

const RESOURCE: &str = "configmaps";

/// An informer, its objects after the sync, and the number of events since then.
struct LaggingServer {
    server: Server,
    informer: SharedInformer<ConfigMap>,
    before: BTreeMap<Key, Object<ConfigMap>>,
    delivered: Arc<AtomicUsize>,
}

impl LaggingServer {
    async fn start(objects: usize, form: CacheFormat, streaming: bool) -> LaggingServer {
        let server = Server::builder().without_port().start().await.unwrap();
        let maps = (0..objects).map(|number| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": format!("map-{number}"), "namespace": "default" },
                "data": { "number": number.to_string() },
            })
        });
        server.load(maps).unwrap();
        let informer = SharedInformer::<ConfigMap>::builder(server.direct_client())
            .cache_format(form)
            .streaming_list(streaming)
            .seed(1)
            .watch_error_handler(|_| {})
            .build();
        let delivered = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&delivered);
        let handler = informer
            .add_handler(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
        informer.start().unwrap();
        handler.wait_for_sync(LONG).await.unwrap();
        delivered.store(0, Ordering::Relaxed);
        let before = informer
            .snapshot()
            .iter()
            .map(|map| (map.key().clone(), map))
            .collect();
        LaggingServer {
            server,
            informer,
            before,
            delivered,
        }
    }

    /// Ends the watch with an error that causes a relist, and waits until the list is in the cache.
    async fn relist(&self) {
        let lists = |status: &kube_informer::status::Status| {
            status.relists.expired + status.relists.behind + status.relists.failed
        };
        let before = lists(&self.informer.status());
        self.server
            .faults()
            .add(On::watch(RESOURCE).once(), Fault::ErrorAfterEvents(0));
        self.server.cut_connections();
        for second in 0.. {
            if lists(&self.informer.status()) > before {
                break;
            }
            assert!(second < 3_600, "no list in an hour");
            sleep(Duration::from_secs(1)).await;
        }
        let version = self.server.resource_version();
        self.informer.wait_for_version(version, LONG).await.unwrap();
    }

    async fn assert_kept(self, decoded: u64) {
        let after = self.informer.snapshot();
        assert_eq!(after.len(), self.before.len());
        for map in &after {
            assert!(
                Object::ptr_eq(&map, &self.before[map.key()]),
                "{} was replaced",
                map.key()
            );
        }
        assert_eq!(
            self.delivered.load(Ordering::Relaxed),
            0,
            "events without a change"
        );
        assert_eq!(
            self.informer.status().decoded_objects,
            decoded,
            "objects decoded again"
        );
        assert_eq!(self.informer.status().went_back, 0);
        self.informer.shutdown().await;
    }
}

/// Returns the ways in which a lagging server responds to a list or a streaming list at the informer's
/// version.
fn lag() -> [Fault; 2] {
    [Fault::StaleList(3), Fault::TooLargeVersion]
}

async fn keeps_unchanged_objects(objects: usize, form: CacheFormat, streaming: bool, fault: Fault) {
    let lagging = LaggingServer::start(objects, form, streaming).await;
    let decoded = lagging.informer.status().decoded_objects;
    let at_a_version = On::list_or_watch(RESOURCE).when(move |request| {
        let version = request.param("resourceVersion").unwrap_or_default();
        let is_list = request.param("watch").is_none() || request.param("sendInitialEvents").is_some();
        is_list && !matches!(version, "" | "0")
    });
    let rule = lagging.server.faults().add(at_a_version, fault);
    lagging.relist().await;
    assert!(rule.hits() > 0, "the informer did not list at its version");
    lagging.assert_kept(decoded).await;
}

#[tokio::test(start_paused = true)]
async fn contract_10_a_lagging_server_delivers_nothing_again() {
    for form in [CacheFormat::Decoded, CacheFormat::Packed] {
        for streaming in [false, true] {
            for fault in lag() {
                keeps_unchanged_objects(50, form, streaming, fault).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn contract_10_a_lagging_server_delivers_and_decodes_none_of_30_000_packed_objects() {
    for streaming in [false, true] {
        keeps_unchanged_objects(30_000, CacheFormat::Packed, streaming, Fault::StaleList(3)).await;
    }
}
