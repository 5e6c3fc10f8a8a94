//! A real kube-apiserver with etcd.

mod assets;
mod credentials;
mod error;
mod flags;
mod supervised;

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell};
use tokio::time::sleep;

use crate::folder::Folder;
use assets::Assets;
pub use error::StartError;
use supervised::Supervised;

/// How long a server may take to start on a slow and busy machine.
const PATIENCE: Duration = Duration::from_mins(2);
/// How often a starting server is asked whether it is ready.
const POLL: Duration = Duration::from_millis(50);

/// kube-apiserver and etcd, and kube-controller-manager where it is there, on free ports of loopback.
///
/// The processes end with this value, and with the test process, also when that is killed.
#[derive(Debug)]
pub struct RealServer {
    // In the order in which they are to end.
    controllers: Option<Supervised>,
    apiserver: Mutex<Supervised>,
    _etcd: Supervised,
    etcd_port: u16,
    port: u16,
    assets: Assets,
    folder: Folder,
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
        if let Some(program) = server.assets.find("kube-controller-manager") {
            let (folder, flags) = (server.folder.path(), flags::controllers(&server.folder));
            server.controllers = Some(Supervised::start(
                "kube-controller-manager",
                &program,
                &flags,
                folder,
            )?);
        }
        Ok(server)
    }

    /// Starts kube-apiserver and etcd alone: nobody collects objects whose owners do not exist.
    pub async fn start_without_controllers() -> Result<Self, StartError> {
        let assets = Assets::given()?;
        let folder = Folder::create()?;
        folder.write_credentials()?;
        let (etcd, etcd_port) = start_etcd(&assets, &folder).await?;
        let (apiserver, port) = start_apiserver(&assets, &folder, etcd_port).await?;
        Ok(Self {
            controllers: None,
            apiserver: Mutex::new(apiserver),
            _etcd: etcd,
            etcd_port,
            port,
            assets,
            folder,
        })
    }

    /// An administrator's client, bound to the calling runtime.
    pub async fn client(&self) -> Result<Client, StartError> {
        client(&self.folder).await
    }

    /// An administrator's configuration.
    pub async fn config(&self) -> Result<Config, StartError> {
        config(&self.folder).await
    }

    /// The administrator's kubeconfig, for kubectl and programs with client-go.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.kubeconfig()
    }

    /// kubectl, speaking to this server.
    pub fn kubectl(&self) -> Result<Command, StartError> {
        let mut kubectl = Command::new(self.assets.require("kubectl")?);
        kubectl.env("KUBECONFIG", self.kubeconfig());
        Ok(kubectl)
    }

    /// Whether namespaces and what owners own get deleted: envtest's own folder has no kube-controller-manager.
    pub fn has_controllers(&self) -> bool {
        self.controllers.is_some()
    }

    /// Kills kube-apiserver as a crash would. Connections break, and new ones are refused until
    /// [`RealServer::restart_apiserver`].
    pub async fn kill_apiserver(&self) {
        self.apiserver.lock().await.kill();
    }

    /// Kills kube-apiserver if it runs, starts it again at the same address and returns when it is ready.
    pub async fn restart_apiserver(&self) -> Result<(), StartError> {
        let mut apiserver = self.apiserver.lock().await;
        apiserver.kill();
        *apiserver = run_apiserver(&self.assets, &self.folder, self.etcd_port, self.port).await?;
        Ok(())
    }

    /// Stops kube-apiserver in its tracks: connections stay open and say nothing.
    pub async fn freeze_apiserver(&self) -> Result<(), StartError> {
        Ok(self.apiserver.lock().await.freeze()?)
    }

    /// Lets a frozen kube-apiserver go on.
    pub async fn thaw_apiserver(&self) -> Result<(), StartError> {
        Ok(self.apiserver.lock().await.thaw()?)
    }

    /// Makes the server forget everything before now: a watch or a page from an older version is answered with 410.
    ///
    /// etcd drops the old revisions, and kube-apiserver, which has its own memory of them, starts again.
    pub async fn forget_history(&self) -> Result<(), StartError> {
        let etcd = etcd_client(self.etcd_port)?;
        let status = ask_etcd(&etcd, "/v3/maintenance/status", &json!({})).await?;
        let revision = &status["header"]["revision"];
        ask_etcd(
            &etcd,
            "/v3/kv/compaction",
            &json!({"revision": revision, "physical": true}),
        )
        .await?;
        self.restart_apiserver().await
    }
}

async fn config(folder: &Folder) -> Result<Config, StartError> {
    let kubeconfig = Kubeconfig::read_from(folder.kubeconfig())?;
    Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
}

async fn client(folder: &Folder) -> Result<Client, StartError> {
    let mut config = config(folder).await?;
    // A test sees every answer, also those that kube's client would try again behind its back.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

async fn start_etcd(assets: &Assets, folder: &Folder) -> Result<(Supervised, u16), StartError> {
    let program = assets.require("etcd")?;
    on_free_port(async |port| {
        let mut etcd = Supervised::start("etcd", &program, &flags::etcd(folder, port), folder.path())?;
        let client = etcd_client(port)?;
        until_ready(&mut etcd, async || {
            let health = client.request_text(get("/health")).await;
            health.is_ok_and(|text| text.contains("\"true\""))
        })
        .await?;
        Ok(etcd)
    })
    .await
}

async fn start_apiserver(
    assets: &Assets,
    folder: &Folder,
    etcd_port: u16,
) -> Result<(Supervised, u16), StartError> {
    on_free_port(async |port| {
        folder.write_kubeconfig(port)?;
        run_apiserver(assets, folder, etcd_port, port).await
    })
    .await
}

async fn run_apiserver(
    assets: &Assets,
    folder: &Folder,
    etcd_port: u16,
    port: u16,
) -> Result<Supervised, StartError> {
    let program = assets.require("kube-apiserver")?;
    let flags = flags::apiserver(folder, etcd_port, port);
    let mut apiserver = Supervised::start("kube-apiserver", &program, &flags, folder.path())?;
    let client = client(folder).await?;
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

/// Starts a server on a port that was free a moment ago, and on another when somebody was quicker.
async fn on_free_port(
    start: impl AsyncFn(u16) -> Result<Supervised, StartError>,
) -> Result<(Supervised, u16), StartError> {
    let mut tries = 3;
    loop {
        tries -= 1;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        match start(port).await {
            Ok(server) => return Ok((server, port)),
            Err(StartError::Ended { last_words, .. })
                if tries > 0 && last_words.contains("address already in use") => {}
            Err(error) => return Err(error),
        }
    }
}

async fn until_ready(server: &mut Supervised, ready: impl AsyncFn() -> bool) -> Result<(), StartError> {
    let started = SystemTime::now();
    while !ready().await {
        let program = server.name;
        if server.has_ended() {
            return Err(StartError::Ended {
                program,
                last_words: server.last_words(),
            });
        }
        if started.elapsed().unwrap_or_default() > PATIENCE {
            return Err(StartError::NotReady {
                program,
                seconds: PATIENCE.as_secs(),
                last_words: server.last_words(),
            });
        }
        sleep(POLL).await;
    }
    Ok(())
}

/// etcd speaks JSON over HTTP as well, which kube's client carries as any other.
fn etcd_client(port: u16) -> Result<Client, StartError> {
    let url = format!("http://127.0.0.1:{port}");
    let url = url.parse().map_err(|error| StartError::Client(Arc::new(error)))?;
    Ok(Client::try_from(Config::new(url))?)
}

async fn ask_etcd(etcd: &Client, path: &str, question: &Value) -> Result<Value, StartError> {
    let request = Request::post(path)
        .header("content-type", "application/json")
        .body(question.to_string().into_bytes())
        .map_err(|error| StartError::Client(Arc::new(error)))?;
    Ok(etcd.request(request).await?)
}

fn get(path: &'static str) -> Request<Vec<u8>> {
    let mut request = Request::default();
    *request.uri_mut() = http::Uri::from_static(path);
    request
}
