//! A real kube-apiserver with etcd.

mod apiserver;
mod assets;
mod authority;
mod cluster_files;
mod credentials;
mod error;
mod etcd;
mod flags;
pub mod guest;
mod node;
mod ready;
mod server_process;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use kube::{Client, Config};
use tokio::sync::OnceCell;

pub use apiserver::ApiServer;
use cluster_files::ClusterFiles;
pub use error::StartError;
pub use etcd::Etcd;
use server_process::ServerProcess;

/// kube-apiserver and etcd, and kube-controller-manager if available, on free loopback ports.
///
/// The processes end when this is dropped, and when the test process ends, even if it is killed.
#[derive(Debug)]
pub struct RealServer {
    // In the order in which they must end.
    controllers: Option<ServerProcess>,
    apiserver: ApiServer,
    etcd: Etcd,
    files: Arc<ClusterFiles>,
}

impl RealServer {
    /// Returns the server that all tests of this process share. The first call starts it. If it does not
    /// start, all calls return the same error.
    pub async fn shared() -> Result<Arc<Self>, StartError> {
        static SHARED: OnceCell<Result<Arc<RealServer>, StartError>> = OnceCell::const_new();
        SHARED
            .get_or_init(|| async { Self::start().await.map(Arc::new) })
            .await
            .clone()
    }

    /// Starts a separate server and waits until it is ready.
    pub async fn start() -> Result<Self, StartError> {
        let mut server = Self::start_without_controllers().await?;
        let files = &server.files;
        if let Some(program) = files.assets.find("kube-controller-manager") {
            let flags = flags::controllers(&server.kubeconfig());
            let name = "kube-controller-manager";
            server.controllers = Some(ServerProcess::start(name, &program, &flags, files.folder.path())?);
        }
        Ok(server)
    }

    /// Starts kube-apiserver and etcd only: there is no garbage collection.
    pub async fn start_without_controllers() -> Result<Self, StartError> {
        let files = Arc::new(ClusterFiles::make()?);
        let etcd = Etcd::start(&files).await?;
        let apiserver = ApiServer::start("kube-apiserver", &files, etcd.address()).await?;
        Ok(Self {
            controllers: None,
            apiserver,
            etcd,
            files,
        })
    }

    /// Starts a second API server on the same etcd, at an address that may be that of a proxy.
    pub async fn second_apiserver(&self, etcd: SocketAddr) -> Result<ApiServer, StartError> {
        ApiServer::start("kube-apiserver-second", &self.files, etcd).await
    }

    /// Returns the API server.
    pub fn apiserver(&self) -> &ApiServer {
        &self.apiserver
    }

    /// Returns the API server's etcd.
    pub fn etcd(&self) -> &Etcd {
        &self.etcd
    }

    /// Returns the administrator's client, bound to the calling runtime.
    pub async fn client(&self) -> Result<Client, StartError> {
        self.apiserver.client().await
    }

    /// Returns the administrator's configuration.
    pub async fn config(&self) -> Result<Config, StartError> {
        self.apiserver.config().await
    }

    /// Returns the administrator's kubeconfig, for kubectl and programs with client-go.
    pub fn kubeconfig(&self) -> PathBuf {
        self.apiserver.kubeconfig()
    }

    /// Returns a kubectl command for this server.
    pub fn kubectl(&self) -> Result<Command, StartError> {
        let mut kubectl = Command::new(self.files.assets.require("kubectl")?);
        kubectl.env("KUBECONFIG", self.kubeconfig());
        Ok(kubectl)
    }

    /// Returns whether namespaces and owned objects get deleted: envtest's own folder has no
    /// kube-controller-manager.
    pub fn has_controllers(&self) -> bool {
        self.controllers.is_some()
    }

    /// Gives all API servers of this etcd a new certificate of the same authority. They reload it after some
    /// time.
    pub fn rotate_certificate(&self) -> Result<(), StartError> {
        Ok(self.files.folder.write_certificate(&self.files.authority)?)
    }

    /// Compacts the server's history: a watch or a page from an older version gets 410.
    ///
    /// etcd drops the old revisions, and kube-apiserver restarts because of its watch cache.
    pub async fn forget_history(&self) -> Result<(), StartError> {
        self.etcd.compact().await?;
        self.apiserver.restart().await
    }
}
