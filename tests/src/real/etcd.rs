//! etcd, which holds what API servers serve.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http::Request;
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::ready::{get, on_free_port, until_ready};
use super::supervised::Supervised;
use super::{Home, StartError, flags};

/// A single etcd on a free port of loopback.
#[derive(Debug)]
pub struct Etcd {
    process: Mutex<Supervised>,
    port: u16,
    home: Arc<Home>,
}

impl Etcd {
    pub(super) async fn start(home: &Arc<Home>) -> Result<Self, StartError> {
        let (process, port) = on_free_port(async |port| run(home, port).await).await?;
        Ok(Self {
            process: Mutex::new(process),
            port,
            home: Arc::clone(home),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Kills it as a crash would. API servers fail to read and write until [`Etcd::restart`].
    pub async fn kill(&self) {
        self.process.lock().await.kill();
    }

    /// Kills it if it runs, starts it again with what it had and returns when it is ready.
    pub async fn restart(&self) -> Result<(), StartError> {
        let mut process = self.process.lock().await;
        process.kill();
        *process = run(&self.home, self.port).await?;
        Ok(())
    }

    /// Stops it in its tracks: API servers wait.
    pub async fn freeze(&self) -> Result<(), StartError> {
        Ok(self.process.lock().await.freeze()?)
    }

    /// Lets a frozen one go on.
    pub async fn thaw(&self) -> Result<(), StartError> {
        Ok(self.process.lock().await.thaw()?)
    }

    /// Drops all revisions before now. An API server remembers some of them still.
    pub async fn compact(&self) -> Result<(), StartError> {
        let etcd = client(self.port)?;
        let status = ask(&etcd, "/v3/maintenance/status", &json!({})).await?;
        let revision = &status["header"]["revision"];
        let question = json!({"revision": revision, "physical": true});
        ask(&etcd, "/v3/kv/compaction", &question).await?;
        Ok(())
    }
}

async fn run(home: &Home, port: u16) -> Result<Supervised, StartError> {
    let program = home.assets.require("etcd")?;
    let folder = &home.folder;
    let mut etcd = Supervised::start("etcd", &program, &flags::etcd(folder, port), folder.path())?;
    let client = client(port)?;
    until_ready(&mut etcd, async || {
        let health = client.request_text(get("/health")).await;
        health.is_ok_and(|text| text.contains("\"true\""))
    })
    .await?;
    Ok(etcd)
}

/// etcd speaks JSON over HTTP as well, which kube's client carries as any other.
fn client(port: u16) -> Result<Client, StartError> {
    let url = format!("http://127.0.0.1:{port}");
    let url = url.parse().map_err(|error| StartError::Client(Arc::new(error)))?;
    Ok(Client::try_from(Config::new(url))?)
}

async fn ask(etcd: &Client, path: &str, question: &Value) -> Result<Value, StartError> {
    let request = Request::post(path)
        .header("content-type", "application/json")
        .body(question.to_string().into_bytes())
        .map_err(|error| StartError::Client(Arc::new(error)))?;
    Ok(etcd.request(request).await?)
}
