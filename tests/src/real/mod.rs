//! A real kube-apiserver with etcd.

mod apiserver;
mod assets;
mod authority;
mod credentials;
mod error;
mod etcd;
mod flags;
pub mod guest;
mod home;
mod node;
mod ready;
mod supervised;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use kube::{Client, Config};
use tokio::sync::OnceCell;

pub use apiserver::ApiServer;
pub use error::StartError;
pub use etcd::Etcd;
use home::Home;
use supervised::Supervised;

/// kube-apiserver and etcd, and kube-controller-manager where it is there, on free ports of loopback.
///
/// The processes end with this value, and with the test process, also when that is killed.
#[derive(Debug)]
pub struct RealServer {
    // In the order in which they are to end.
    controllers: Option<Supervised>,
    apiserver: ApiServer,
    etcd: Etcd,
    home: Arc<Home>,
}

impl RealServer {
    /// The server that all tests of this process share, started by the first that asks. When it does not start, no test
    /// tries again: each gets the same error.
    pub async fn shared() -> Result<Arc<Self>, StartError> {
        static SHARED: OnceCell<Result<Arc<RealServer>, StartError>> = OnceCell::const_new();
        SHARED
            .get_or_init(|| async { Self::start().await.map(Arc::new) })
            .await
            .clone()
    }

    /// Starts a server of one's own and returns when it is ready.
    pub async fn start() -> Result<Self, StartError> {
        let mut server = Self::start_without_controllers().await?;
        let home = &server.home;
        if let Some(program) = home.assets.find("kube-controller-manager") {
            let flags = flags::controllers(&server.kubeconfig());
            let name = "kube-controller-manager";
            server.controllers = Some(Supervised::start(name, &program, &flags, home.folder.path())?);
        }
        Ok(server)
    }

    /// Starts kube-apiserver and etcd alone: nobody collects objects whose owners do not exist.
    pub async fn start_without_controllers() -> Result<Self, StartError> {
        let home = Arc::new(Home::make()?);
        let etcd = Etcd::start(&home).await?;
        let apiserver = ApiServer::start("kube-apiserver", &home, etcd.address()).await?;
        Ok(Self {
            controllers: None,
            apiserver,
            etcd,
            home,
        })
    }

    /// Starts a second API server on the same etcd, which it reaches at this address: something may stand between.
    pub async fn second_apiserver(&self, etcd: SocketAddr) -> Result<ApiServer, StartError> {
        ApiServer::start("kube-apiserver-second", &self.home, etcd).await
    }

    /// The API server.
    pub fn apiserver(&self) -> &ApiServer {
        &self.apiserver
    }

    /// What the API server keeps everything in.
    pub fn etcd(&self) -> &Etcd {
        &self.etcd
    }

    /// An administrator's client, bound to the calling runtime.
    pub async fn client(&self) -> Result<Client, StartError> {
        self.apiserver.client().await
    }

    /// An administrator's configuration.
    pub async fn config(&self) -> Result<Config, StartError> {
        self.apiserver.config().await
    }

    /// The administrator's kubeconfig, for kubectl and programs with client-go.
    pub fn kubeconfig(&self) -> PathBuf {
        self.apiserver.kubeconfig()
    }

    /// kubectl, speaking to this server.
    pub fn kubectl(&self) -> Result<Command, StartError> {
        let mut kubectl = Command::new(self.home.assets.require("kubectl")?);
        kubectl.env("KUBECONFIG", self.kubeconfig());
        Ok(kubectl)
    }

    /// Whether namespaces and what owners own get deleted: envtest's own folder has no kube-controller-manager.
    pub fn has_controllers(&self) -> bool {
        self.controllers.is_some()
    }

    /// Gives all API servers of this etcd a new certificate by the same authority. They take it up by themselves, sooner
    /// or later.
    pub fn rotate_certificate(&self) -> Result<(), StartError> {
        Ok(self.home.folder.write_certificate(&self.home.authority)?)
    }

    /// Makes the server forget everything before now: a watch or a page from an older version is answered with 410.
    ///
    /// etcd drops the old revisions, and kube-apiserver, which has its own memory of them, starts again.
    pub async fn forget_history(&self) -> Result<(), StartError> {
        self.etcd.compact().await?;
        self.apiserver.restart().await
    }
}
