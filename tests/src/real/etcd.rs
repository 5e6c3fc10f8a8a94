//! etcd, which holds what API servers serve.

use std::sync::Arc;

use http::Request;
use kube::{Client, Config};
use serde_json::{Value, json};

use super::node::{Node, Role};
use super::ready::{get, until_ready};
use super::supervised::Supervised;
use super::{Home, StartError, flags};

/// A single etcd.
pub type Etcd = Node<Keeping>;

/// What an etcd is there for.
#[derive(Debug)]
pub struct Keeping;

impl Etcd {
    pub(super) async fn start(home: &Arc<Home>) -> Result<Self, StartError> {
        Self::start_as(Keeping, home).await
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

impl Role for Keeping {
    async fn run(&self, home: &Home, port: u16) -> Result<Supervised, StartError> {
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
