//! etcd, the storage of API servers.

use std::sync::Arc;

use http::Request;
use kube::{Client, Config};
use serde_json::{Value, json};

use super::node::{Node, Role};
use super::ready::{get, until_ready};
use super::server_process::ServerProcess;
use super::{ClusterFiles, StartError, flags};

/// A single etcd.
pub type Etcd = Node<EtcdRole>;

/// The role of an etcd.
#[derive(Debug)]
pub struct EtcdRole;

impl Etcd {
    pub(super) async fn start(files: &Arc<ClusterFiles>) -> Result<Self, StartError> {
        Self::start_as(EtcdRole, files).await
    }

    /// Compacts all earlier revisions. An API server still has some of them in its watch cache.
    pub async fn compact(&self) -> Result<(), StartError> {
        let etcd = client(self.port)?;
        let status = ask(&etcd, "/v3/maintenance/status", &json!({})).await?;
        let revision = &status["header"]["revision"];
        let question = json!({"revision": revision, "physical": true});
        ask(&etcd, "/v3/kv/compaction", &question).await?;
        Ok(())
    }
}

impl Role for EtcdRole {
    async fn run(&self, files: &ClusterFiles, port: u16) -> Result<ServerProcess, StartError> {
        let program = files.assets.require("etcd")?;
        let folder = &files.folder;
        let mut etcd = ServerProcess::start("etcd", &program, &flags::etcd(folder, port), folder.path())?;
        let client = client(port)?;
        until_ready(&mut etcd, async || {
            let health = client.request_text(get("/health")).await;
            health.is_ok_and(|text| text.contains("\"true\""))
        })
        .await?;
        Ok(etcd)
    }
}

/// etcd supports JSON over HTTP, so kube's client can be used.
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
