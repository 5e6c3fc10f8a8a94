//! The server as its user sees it: started, asked, disturbed, stopped.

mod builder;
#[cfg(feature = "client")]
mod client;
mod error;
mod kubeconfig;
mod listener;
mod load;
mod tls;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tokio::task::JoinHandle;

pub use builder::Builder;
pub use error::Error;
pub use kubeconfig::KubeconfigFile;

use crate::auth::User;
use crate::cluster::Cluster;
use crate::faults::Faults;
use crate::follow_up;
use crate::record::Request;
use crate::store;
use listener::Listener;
use tls::Identity;

/// A running API server.
///
/// Dropping it stops it at once; [`stop`](Server::stop) also waits until everything has ended.
///
/// ```
/// # use kube_embedded::Server;
/// # use serde_json::json;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), kube_embedded::Error> {
/// let server = Server::start().await?;
/// server.load([json!({
///     "apiVersion": "v1", "kind": "ConfigMap",
///     "metadata": { "name": "greeting", "namespace": "default" },
///     "data": { "hello": "world" },
/// })])?;
/// assert_eq!(server.count("configmaps"), 1);
/// println!("kubectl --server {} get configmaps", server.http_url());
/// server.stop().await;
/// # Ok(())
/// # }
/// ```
#[doc(alias("envtest", "NewClientset", "FakeControllerSource", "kube-apiserver", "fake"))]
#[derive(Debug)]
pub struct Server {
    cluster: Arc<Cluster>,
    listener: Listener,
    identity: Identity,
    controllers: JoinHandle<()>,
}

/// A moment of a server, to go back to with [`Server::restore`].
///
/// ```
/// # use kube_embedded::Server;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), kube_embedded::Error> {
/// # let server = Server::start().await?;
/// let backup = server.backup();
/// let then = server.resource_version();
/// server.advance_resource_version(1000);
/// server.restore(&backup);
/// assert_eq!(server.resource_version(), then);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Backup(store::Backup);

impl Server {
    /// Begins the settings of a server.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts a server with the usual settings on a loopback port of its own choice.
    pub async fn start() -> Result<Server, Error> {
        Server::builder().start().await
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Base URL over HTTPS; the certificate is signed by [`ca_pem`](Server::ca_pem).
    pub fn url(&self) -> String {
        format!("https://{}", self.address())
    }

    /// Base URL over plain HTTP; the same port serves both.
    pub fn http_url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Certificate of the throw-away authority that signed the server's certificate.
    pub fn ca_pem(&self) -> &str {
        self.identity.ca_pem()
    }

    /// A kubeconfig for this server, as text.
    pub fn kubeconfig(&self) -> String {
        kubeconfig::text(&self.url(), self.ca_pem(), self.cluster.access.admin_token())
    }

    /// Returns a bearer token for any user, for clients and programs that are not to have all permissions. It does not
    /// expire, and a service account need not exist.
    ///
    /// The tokens that a client requests for a ServiceAccount expire, and are valid while the account exists.
    pub fn token_for(&self, user: &User) -> String {
        self.cluster.access.user_token(user)
    }

    /// Writes a kubeconfig for this server, readable by its owner only. The file appears complete or not at all.
    ///
    /// A file that an earlier server wrote is replaced, if it was not changed since. Nothing else is overwritten.
    ///
    /// # Errors
    /// If the path holds anything else, or the file cannot be written.
    pub fn write_kubeconfig(&self, path: impl AsRef<Path>) -> Result<KubeconfigFile, Error> {
        kubeconfig::write(path.as_ref(), &self.kubeconfig())
    }

    /// The rules by which it misbehaves.
    pub fn faults(&self) -> &Faults {
        &self.cluster.faults
    }

    /// The requests it has seen, the oldest first.
    pub fn requests(&self) -> Vec<Arc<Request>> {
        self.cluster.record.all()
    }

    /// Forgets the requests it has seen.
    pub fn forget_requests(&self) {
        self.cluster.record.clear();
    }

    /// Waits until there is a request, seen already or to come, that satisfies `wanted`.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn wait_for_request(&self, wanted: impl Fn(&Request) -> bool) -> Arc<Request> {
        self.cluster.record.wait_for(wanted).await
    }

    /// How many TCP connections it has accepted.
    pub fn connections(&self) -> u64 {
        self.cluster.record.connections()
    }

    /// The version of the newest write, which any list made now is at.
    pub fn resource_version(&self) -> u64 {
        self.cluster.store.revision()
    }

    /// How many objects a resource has, named as `pods` or `deployments.apps`.
    pub fn count(&self, resource: &str) -> usize {
        self.cluster.store.len(&collection(resource))
    }

    /// Bytes that a resource's objects take, named as `pods` or `deployments.apps`.
    pub fn size(&self, resource: &str) -> usize {
        self.cluster.store.size(&collection(resource))
    }

    /// Creates or replaces objects of any kind without a client: manifests as JSON values, lists included. Everything the
    /// API does to a new object (defaults, checks, uid, version) is done to these.
    pub fn load(&self, objects: impl IntoIterator<Item = serde_json::Value>) -> Result<usize, Error> {
        load::objects(&self.cluster, objects)
    }

    /// Loads manifests from a YAML or JSON file, which may hold several documents.
    pub fn load_file(&self, path: impl AsRef<Path>) -> Result<usize, Error> {
        load::file(&self.cluster, path.as_ref())
    }

    /// Deletes an object without a client, named by its resource as `pods` or `deployments.apps`. Says whether it was there;
    /// one with finalizers stays until they are gone.
    pub fn delete(&self, resource: &str, namespace: Option<&str>, name: &str) -> bool {
        load::delete(&self.cluster, &collection(resource), namespace, name)
    }

    /// Returns an object as it is stored, without a client; the resource is named as `pods` or `deployments.apps`.
    pub fn object(&self, resource: &str, namespace: Option<&str>, name: &str) -> Option<serde_json::Value> {
        let key = store::Key::new(namespace, name);
        let object = self.cluster.store.get(&collection(resource), &key)?;
        Some(object.value())
    }

    /// Moves the version forward, as writes to other resources would.
    pub fn advance_resource_version(&self, by: u64) {
        self.cluster.store.advance(by);
    }

    /// Forgets all history: watches and continued lists from before now answer 410.
    pub fn compact_history(&self) {
        let newest = self.cluster.store.revision();
        self.cluster.store.compact(newest);
    }

    /// Breaks every connection and watch that exists now; new ones may come.
    pub fn cut_connections(&self) {
        self.cluster.cut_connections();
    }

    /// Stops listening and breaks every connection: from now on connections are refused.
    pub async fn go_down(&self) {
        self.listener.close().await;
        self.cluster.cut_connections();
    }

    /// Listens again on the same port after [`go_down`](Server::go_down).
    pub async fn come_back(&self) -> Result<(), Error> {
        self.listener.open(&self.cluster, &self.identity).await
    }

    /// Remembers this moment.
    pub fn backup(&self) -> Backup {
        Backup(self.cluster.store.backup())
    }

    /// Goes back to a moment: objects and versions are those of then, as after restoring etcd from a backup. Connections
    /// break, as they do when the real server is restarted for it.
    pub fn restore(&self, backup: &Backup) {
        self.cluster.cut_connections();
        self.cluster.store.restore(&backup.0);
        follow_up::rebuild_registry(&self.cluster);
    }

    /// Stops, and waits until every connection and task has ended.
    pub async fn stop(mut self) {
        self.listener.close().await;
        self.cluster.cut_connections();
        self.listener.ended().await;
        self.controllers.abort();
        let _ = (&mut self.controllers).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listener.abort();
        self.cluster.cut_connections();
        self.controllers.abort();
    }
}

/// `pods` or `deployments.apps` as the name of a collection.
fn collection(resource: &str) -> String {
    let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
    format!("{group}/{plural}")
}
