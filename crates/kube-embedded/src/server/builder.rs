//! Settings of a server before it starts.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;

use super::listener::{Listener, Protocols};
use super::tls::TlsIdentity;
use super::{Error, Server, load};
use crate::auth::{Access, Authorization, bootstrap_objects};
use crate::cluster::{Cluster, Settings};
use crate::controllers;

/// Settings of a server before it starts.
///
/// ```
/// # use std::time::Duration;
/// # use kube_embedded::Server;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), kube_embedded::Error> {
/// // A short history, frequent bookmarks, and the same uids in every run.
/// let server = Server::builder()
///     .history(10)
///     .bookmark_interval(Duration::from_secs(1))
///     .seed(7)
///     .start()
///     .await?;
/// # server.stop().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it is started"]
pub struct Builder {
    address: SocketAddr,
    has_port: bool,
    protocols: Protocols,
    settings: Settings,
    authorization: Authorization,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            has_port: true,
            protocols: Protocols::default(),
            settings: Settings {
                history: 10_000,
                bookmark_interval: Duration::from_secs(60),
                too_large_wait: Duration::from_secs(3),
                seed: None,
                advertised: String::new(),
            },
            authorization: Authorization::default(),
        }
    }
}

impl Builder {
    /// Sets the loopback port. By default, the system chooses a free one.
    pub fn port(mut self, port: u16) -> Builder {
        self.address.set_port(port);
        self
    }

    /// Does not listen. Only [direct clients](Server::direct_client) reach the server. For tests that start
    /// thousands of servers.
    pub fn without_port(mut self) -> Builder {
        self.has_port = false;
        self
    }

    /// Sets the number of changes that each resource keeps (10,000). A watch of an earlier version gets 410.
    pub fn history(mut self, changes: usize) -> Builder {
        self.settings.history = changes.max(1);
        self
    }

    /// Sets the time between bookmarks of a watch that requests them (one minute).
    pub fn bookmark_interval(mut self, interval: Duration) -> Builder {
        self.settings.bookmark_interval = interval.max(Duration::from_millis(1));
        self
    }

    /// Sets how long a request for a future version waits before it gets 504 (three seconds).
    pub fn too_large_wait(mut self, wait: Duration) -> Builder {
        self.settings.too_large_wait = wait;
        self
    }

    /// Sets a seed, with which uids and generated names are the same in every run.
    pub fn seed(mut self, seed: u64) -> Builder {
        self.settings.seed = Some(seed);
        self
    }

    /// Sets whether requests need permissions (they do not).
    pub fn authorization(mut self, authorization: Authorization) -> Builder {
        self.authorization = authorization;
        self
    }

    /// Disables HTTP/2, like some proxies in front of API servers.
    pub fn only_http1(mut self) -> Builder {
        self.protocols.http2 = false;
        self
    }

    /// Sets the maximum number of concurrent requests on an HTTP/2 connection (100, as in kube-apiserver).
    pub fn streams_per_connection(mut self, streams: u32) -> Builder {
        self.protocols.streams = streams.max(1);
        self
    }

    /// Starts the server. It is ready when this returns.
    pub async fn start(self) -> Result<Server, Error> {
        let Builder {
            address,
            has_port,
            protocols,
            mut settings,
            authorization,
        } = self;
        let identity = TlsIdentity::new(protocols)?;
        let listener = if has_port {
            Listener::bind(address, protocols).await?
        } else {
            Listener::without_port(protocols)
        };
        settings.advertised = listener.address().to_string();
        let (tasks, pending_tasks) = mpsc::unbounded_channel();
        let access = Access::new(authorization, identity.token_key());
        let cluster = Arc::new(Cluster::new(settings, access, tasks));
        let controllers = tokio::spawn(controllers::run(Arc::downgrade(&cluster), pending_tasks));
        load::objects(&cluster, initial_objects(listener.address().port()))?;
        if cluster.access.is_enforced() {
            load::objects(&cluster, bootstrap_objects())?;
        }
        listener.open(&cluster, &identity).await?;
        Ok(Server {
            cluster,
            listener,
            identity,
            controllers,
        })
    }
}

/// Returns the objects that exist in every cluster.
fn initial_objects(port: u16) -> Vec<serde_json::Value> {
    let namespace =
        |name: &str| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    let priority = |name: &str, value: i64, description: &str| {
        json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": { "name": name },
            "value": value,
            "description": description,
        })
    };
    let mut objects: Vec<_> = ["kube-system", "kube-public", "kube-node-lease", "default"]
        .into_iter()
        .map(namespace)
        .collect();
    objects.push(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": { "component": "apiserver", "provider": "kubernetes" },
        },
        "spec": { "type": "ClusterIP", "ports": [{ "name": "https", "port": 443, "targetPort": port }] },
    }));
    objects.push(priority(
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ));
    objects.push(priority(
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ));
    objects
}
