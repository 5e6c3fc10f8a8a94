//! Two API servers on one etcd, and a proxy between them and the informers.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use conformance::RealServer;
use conformance::chaos::Proxy;
use conformance::real::{ApiServer, guest};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, ObjectMeta, PostParams};
use serde_json::from_value;
use tokio::time::{sleep, timeout};

use crate::sorts::{NAMESPACES, Sort, definition};

/// Timeout of every step without faults, including the informers' backoff.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);
/// Interval of retries of a request.
pub(crate) const AGAIN: Duration = Duration::from_millis(50);

pub(crate) type ChaosResult<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// The servers and the proxies in front of them.
pub(crate) struct Cluster {
    /// Clients of both API servers with all permissions, which bypass the proxies.
    pub(crate) clients: [Client; 2],
    /// Between the informers and the API servers.
    pub(crate) proxy: Proxy,
    /// Between the second API server and etcd.
    pub(crate) etcd_proxy: Proxy,
    second: ApiServer,
    pub(crate) server: RealServer,
    on_second: AtomicBool,
}

impl Cluster {
    /// Starts the cluster, with namespaces, the custom resource, and a guest with read permissions.
    pub(crate) async fn start() -> ChaosResult<Cluster> {
        let server = RealServer::start_without_controllers().await?;
        let etcd_proxy = Proxy::start(server.etcd().address()).await?;
        let second = server.second_apiserver(etcd_proxy.address()).await?;
        let proxy = Proxy::start(server.apiserver().address()).await?;
        let cluster = Cluster {
            clients: [server.client().await?, second.client().await?],
            proxy,
            etcd_proxy,
            second,
            server,
            on_second: AtomicBool::new(false),
        };
        cluster.furnish().await?;
        Ok(cluster)
    }

    async fn furnish(&self) -> ChaosResult {
        let [client, _] = &self.clients;
        let at_once = PostParams::default();
        for name in NAMESPACES {
            let namespace = Namespace {
                metadata: ObjectMeta {
                    name: Some(name.into()),
                    ..ObjectMeta::default()
                },
                ..Namespace::default()
            };
            Api::all(client.clone()).create(&at_once, &namespace).await?;
        }
        let definition: CustomResourceDefinition = from_value(definition())?;
        Api::all(client.clone()).create(&at_once, &definition).await?;
        for client in &self.clients {
            let widgets: Api<DynamicObject> = Api::all_with(client.clone(), &Sort::Widgets.resource());
            until("the custom kind is served", async || {
                widgets.list(&ListParams::default()).await.is_ok()
            })
            .await;
        }
        guest::grant(client).await?;
        self.guest_may_read(true).await;
        Ok(())
    }

    /// Waits until both API servers have applied the guest's permissions.
    pub(crate) async fn guest_may_read(&self, wanted: bool) {
        for client in &self.clients {
            until("the guest's rights have changed", async || {
                guest::may_read(client).await.is_ok_and(|may| may == wanted)
            })
            .await;
        }
    }

    /// Returns the API server that the proxy currently forwards to.
    pub(crate) fn current(&self) -> &ApiServer {
        if self.on_second.load(Ordering::Relaxed) {
            &self.second
        } else {
            self.server.apiserver()
        }
    }

    /// Returns both API servers.
    pub(crate) fn both(&self) -> [&ApiServer; 2] {
        [self.server.apiserver(), &self.second]
    }

    /// Forwards informers to one of the API servers.
    pub(crate) fn lead_to(&self, second: bool) {
        self.on_second.store(second, Ordering::Relaxed);
        self.proxy.lead_to(self.current().address());
    }

    /// Forwards informers to the other API server.
    pub(crate) fn switch(&self) {
        self.lead_to(!self.on_second.load(Ordering::Relaxed));
    }
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let asking = async {
        while !is_so().await {
            sleep(AGAIN).await;
        }
    };
    assert!(
        timeout(PATIENCE, asking).await.is_ok(),
        "not in {PATIENCE:?}: {what}"
    );
}
