//! A kube-apiserver. Several can share an etcd.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::node::{Node, Role};
use super::ready::{get, until_ready};
use super::server_process::ServerProcess;
use super::{ClusterFiles, StartError, flags};

/// A kube-apiserver.
pub type ApiServer = Node<ApiServerRole>;

/// The name of a kube-apiserver, and the address of its etcd.
#[derive(Debug)]
pub struct ApiServerRole {
    name: &'static str,
    etcd: SocketAddr,
}

impl ApiServer {
    /// Starts one on the etcd at this address; its name determines the names of its files.
    pub(super) async fn start(
        name: &'static str,
        files: &Arc<ClusterFiles>,
        etcd: SocketAddr,
    ) -> Result<Self, StartError> {
        Self::start_as(ApiServerRole { name, etcd }, files).await
    }

    /// Returns the administrator's kubeconfig.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.files.folder.kubeconfig(self.role.name)
    }

    /// Returns the administrator's configuration.
    pub async fn config(&self) -> Result<Config, StartError> {
        config(&self.files, self.role.name).await
    }

    /// Returns the administrator's client, bound to the calling runtime.
    pub async fn client(&self) -> Result<Client, StartError> {
        client(&self.files, self.role.name).await
    }

    /// Waits until it uses the newest certificate, which it reloads from its files.
    pub async fn shows_new_certificate(&self) -> Result<(), StartError> {
        let wanted = self.files.authority.newest();
        let mut process = self.process.lock().await;
        until_ready(&mut process, async || {
            let shown = self.files.authority.shown_by(self.address()).await;
            shown.is_ok_and(|shown| shown == wanted)
        })
        .await
    }
}

impl Role for ApiServerRole {
    async fn run(&self, files: &ClusterFiles, port: u16) -> Result<ServerProcess, StartError> {
        let program = files.assets.require("kube-apiserver")?;
        let folder = &files.folder;
        folder.write_kubeconfig(self.name, port)?;
        let flags = flags::apiserver(folder, self.etcd, port);
        let mut apiserver = ServerProcess::start(self.name, &program, &flags, folder.path())?;
        let client = client(files, self.name).await?;
        until_ready(&mut apiserver, async || {
            // The server creates the default namespace shortly after it is ready.
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

async fn config(files: &ClusterFiles, name: &str) -> Result<Config, StartError> {
    let kubeconfig = Kubeconfig::read_from(files.folder.kubeconfig(name))?;
    Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
}

async fn client(files: &ClusterFiles, name: &str) -> Result<Client, StartError> {
    let mut config = config(files, name).await?;
    // Tests see every response, including those that kube's client would retry.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
