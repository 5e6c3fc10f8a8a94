//! One kube-apiserver. Several can share an etcd.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::node::{Node, Role};
use super::ready::{get, until_ready};
use super::supervised::Supervised;
use super::{Home, StartError, flags};

/// A kube-apiserver.
pub type ApiServer = Node<Serving>;

/// What a kube-apiserver is called, and where it keeps what it serves.
#[derive(Debug)]
pub struct Serving {
    name: &'static str,
    etcd: SocketAddr,
}

impl ApiServer {
    /// Starts one on the etcd at this address; its files are called by its name.
    pub(super) async fn start(
        name: &'static str,
        home: &Arc<Home>,
        etcd: SocketAddr,
    ) -> Result<Self, StartError> {
        Self::start_as(Serving { name, etcd }, home).await
    }

    /// The administrator's kubeconfig.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.home.folder.kubeconfig(self.role.name)
    }

    /// An administrator's configuration.
    pub async fn config(&self) -> Result<Config, StartError> {
        config(&self.home, self.role.name).await
    }

    /// An administrator's client, bound to the calling runtime.
    pub async fn client(&self) -> Result<Client, StartError> {
        client(&self.home, self.role.name).await
    }

    /// Returns when it shows the certificate that was written last to whoever connects: it looks at its files by itself.
    pub async fn shows_new_certificate(&self) -> Result<(), StartError> {
        let wanted = self.home.authority.newest();
        let mut process = self.process.lock().await;
        until_ready(&mut process, async || {
            let shown = self.home.authority.shown_by(self.address()).await;
            shown.is_ok_and(|shown| shown == wanted)
        })
        .await
    }
}

impl Role for Serving {
    async fn run(&self, home: &Home, port: u16) -> Result<Supervised, StartError> {
        let program = home.assets.require("kube-apiserver")?;
        let folder = &home.folder;
        folder.write_kubeconfig(self.name, port)?;
        let flags = flags::apiserver(folder, self.etcd, port);
        let mut apiserver = Supervised::start(self.name, &program, &flags, folder.path())?;
        let client = client(home, self.name).await?;
        until_ready(&mut apiserver, async || {
            // The default namespace is made by the server itself, a moment after it says that it is ready.
            let ready = client.request_text(get("/readyz")).await.is_ok();
            ready
                && client
                    .request_text(get("/api/v1/namespaces/default"))
                    .await
                    .is_ok()
        })
        .await?;
        Ok(apiserver)
    }
}

async fn config(home: &Home, name: &str) -> Result<Config, StartError> {
    let kubeconfig = Kubeconfig::read_from(home.folder.kubeconfig(name))?;
    Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
}

async fn client(home: &Home, name: &str) -> Result<Client, StartError> {
    let mut config = config(home, name).await?;
    // A test sees every answer, also those that kube's client would try again behind its back.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
