//! The public API of a running server.

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
use tls::TlsIdentity;

/// A running API server.
///
/// Dropping it stops the server without waiting; [`stop`](Server::stop) also waits until everything has
/// ended.
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
    identity: TlsIdentity,
    controllers: JoinHandle<()>,
}

/// A state of a server, for [`Server::restore`].
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
    /// Returns a builder for the settings of a server.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts a server with default settings on a free loopback port.
    pub async fn start() -> Result<Server, Error> {
        Server::builder().start().await
    }

    /// Returns the address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Returns the base URL for HTTPS. The certificate is signed by [`ca_pem`](Server::ca_pem).
    pub fn url(&self) -> String {
        format!("https://{}", self.address())
    }

    /// Returns the base URL for plain HTTP, on the same port.
    pub fn http_url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Returns the certificate of the temporary authority that signed the server's certificate, as PEM.
    pub fn ca_pem(&self) -> &str {
        self.identity.ca_pem()
    }

    /// Returns a kubeconfig for this server as YAML.
    pub fn kubeconfig(&self) -> String {
        kubeconfig::text(&self.url(), self.ca_pem(), self.cluster.access.admin_token())
    }

    /// Returns a bearer token for any user, for clients and programs that must not have all permissions. It
    /// does not expire, and a service account need not exist.
    ///
    /// The tokens that a client requests for a ServiceAccount expire, and are valid while the account exists.
    pub fn token_for(&self, user: &User) -> String {
        self.cluster.access.user_token(user)
    }

    /// Writes a kubeconfig for this server that only its owner can read.
    ///
    /// The file is written atomically. It replaces a file that an earlier server wrote and that has not
    /// changed since. No other file is overwritten.
    ///
    /// # Errors
    /// If the path contains anything else, or the file cannot be written.
    pub fn write_kubeconfig(&self, path: impl AsRef<Path>) -> Result<KubeconfigFile, Error> {
        kubeconfig::write(path.as_ref(), &self.kubeconfig())
    }

    /// Returns the rules that inject faults.
    pub fn faults(&self) -> &Faults {
        &self.cluster.faults
    }

    /// Returns the recorded requests, oldest first.
    pub fn requests(&self) -> Vec<Arc<Request>> {
        self.cluster.record.all()
    }

    /// Deletes the recorded requests.
    pub fn forget_requests(&self) {
        self.cluster.record.clear();
    }

    /// Waits for a request, recorded or new, for which `wanted` returns true.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn wait_for_request(&self, wanted: impl Fn(&Request) -> bool) -> Arc<Request> {
        self.cluster.record.wait_for(wanted).await
    }

    /// Returns the number of accepted TCP connections.
    pub fn connections(&self) -> u64 {
        self.cluster.record.connections()
    }

    /// Returns the resource version of the last write, which is also that of a new list.
    pub fn resource_version(&self) -> u64 {
        self.cluster.store.revision()
    }

    /// Returns the number of objects of a resource, named as `pods` or `deployments.apps`.
    pub fn count(&self, resource: &str) -> usize {
        self.cluster.store.len(&collection(resource))
    }

    /// Returns the size of all objects of a resource, named as `pods` or `deployments.apps`, in bytes.
    pub fn size(&self, resource: &str) -> usize {
        self.cluster.store.size(&collection(resource))
    }

    /// Creates or replaces objects of any kind without a client. Manifests are JSON values, including lists.
    ///
    /// The server applies defaults and validation as for requests. Returns the number of objects.
    pub fn load(&self, objects: impl IntoIterator<Item = serde_json::Value>) -> Result<usize, Error> {
        load::objects(&self.cluster, objects)
    }

    /// Loads manifests from a YAML or JSON file, which may contain several documents.
    pub fn load_file(&self, path: impl AsRef<Path>) -> Result<usize, Error> {
        load::file(&self.cluster, path.as_ref())
    }

    /// Deletes an object without a client. The resource is named as `pods` or `deployments.apps`.
    ///
    /// Returns whether the object existed. An object with finalizers remains until they are removed.
    pub fn delete(&self, resource: &str, namespace: Option<&str>, name: &str) -> bool {
        load::delete(&self.cluster, &collection(resource), namespace, name)
    }

    /// Returns an object as it is stored, without a client. The resource is named as `pods` or
    /// `deployments.apps`.
    pub fn object(&self, resource: &str, namespace: Option<&str>, name: &str) -> Option<serde_json::Value> {
        let key = store::Key::new(namespace, name);
        let object = self.cluster.store.get(&collection(resource), &key)?;
        Some(object.value())
    }

    /// Increases the resource version, like writes to other resources.
    pub fn advance_resource_version(&self, by: u64) {
        self.cluster.store.advance(by);
    }

    /// Deletes the history. Watches and continued lists of earlier versions get 410.
    pub fn compact_history(&self) {
        let newest = self.cluster.store.revision();
        self.cluster.store.compact(newest);
    }

    /// Closes all connections and watches. Clients can reconnect.
    pub fn cut_connections(&self) {
        self.cluster.cut_connections();
    }

    /// Stops listening and closes all connections. New connections are refused.
    pub async fn go_down(&self) {
        self.listener.close().await;
        self.cluster.cut_connections();
    }

    /// Listens again on the same port after [`go_down`](Server::go_down). Does nothing if the server listens.
    pub async fn restart(&self) -> Result<(), Error> {
        self.listener.open(&self.cluster, &self.identity).await
    }

    /// Returns a copy of the current state.
    pub fn backup(&self) -> Backup {
        Backup(self.cluster.store.backup())
    }

    /// Restores the objects and versions of a backup, like restoring etcd. Closes all connections, as the
    /// restart of a real server does.
    pub fn restore(&self, backup: &Backup) {
        self.cluster.cut_connections();
        self.cluster.store.restore(&backup.0);
        follow_up::rebuild_registry(&self.cluster);
    }

    /// Stops the server and waits until all connections and tasks have ended.
    pub async fn stop(mut self) {
        self.listener.close().await;
        self.cluster.cut_connections();
        self.listener.wait_for_connections().await;
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

/// Returns the name of the collection of `pods` or `deployments.apps`.
fn collection(resource: &str) -> String {
    let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
    format!("{group}/{plural}")
}
