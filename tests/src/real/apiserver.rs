//! One kube-apiserver. Several can share an etcd.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::sync::Mutex;

use super::ready::{get, on_free_port, until_ready};
use super::supervised::Supervised;
use super::{Home, StartError, flags};

/// A kube-apiserver on a free port of loopback.
///
/// The process ends with this value, and with the test process, also when that is killed.
#[derive(Debug)]
pub struct ApiServer {
    name: &'static str,
    process: Mutex<Supervised>,
    port: u16,
    etcd: SocketAddr,
    home: Arc<Home>,
}

impl ApiServer {
    /// Starts one on the etcd at this address; its files are called by its name.
    pub(super) async fn start(
        name: &'static str,
        home: &Arc<Home>,
        etcd: SocketAddr,
    ) -> Result<Self, StartError> {
        let (process, port) = on_free_port(async |port| run(name, home, etcd, port).await).await?;
        Ok(Self {
            name,
            process: Mutex::new(process),
            port,
            etcd,
            home: Arc::clone(home),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// The administrator's kubeconfig.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.home.folder.kubeconfig(self.name)
    }

    /// An administrator's configuration.
    pub async fn config(&self) -> Result<Config, StartError> {
        config(&self.home, self.name).await
    }

    /// An administrator's client, bound to the calling runtime.
    pub async fn client(&self) -> Result<Client, StartError> {
        client(&self.home, self.name).await
    }

    /// Kills it as a crash would. Connections break, and new ones are refused until [`ApiServer::restart`].
    pub async fn kill(&self) {
        self.process.lock().await.kill();
    }

    /// Kills it if it runs, starts it again at the same address and returns when it is ready.
    pub async fn restart(&self) -> Result<(), StartError> {
        let mut process = self.process.lock().await;
        process.kill();
        *process = run(self.name, &self.home, self.etcd, self.port).await?;
        Ok(())
    }

    /// Stops it in its tracks: connections stay open and say nothing.
    pub async fn freeze(&self) -> Result<(), StartError> {
        Ok(self.process.lock().await.freeze()?)
    }

    /// Lets a frozen one go on.
    pub async fn thaw(&self) -> Result<(), StartError> {
        Ok(self.process.lock().await.thaw()?)
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

async fn run(name: &'static str, home: &Home, etcd: SocketAddr, port: u16) -> Result<Supervised, StartError> {
    let program = home.assets.require("kube-apiserver")?;
    let folder = &home.folder;
    folder.write_kubeconfig(name, port)?;
    let flags = flags::apiserver(folder, etcd, port);
    let mut apiserver = Supervised::start(name, &program, &flags, folder.path())?;
    let client = client(home, name).await?;
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
