//! Servers for the integration tests.
//!
//! A test is written once, against [`TestServer`], and `KUBE_INFORMER_TEST_SERVER` says what answers it: `embedded` (the
//! default) or `real`, a kube-apiserver with etcd from `KUBEBUILDER_ASSETS`. `cargo xtask test --real` prepares and sets both.

pub mod chaos;
pub mod client_go;
mod embedded;
mod folder;
mod namespace;
mod raw;
pub mod real;

use std::path::Path;
use std::sync::Arc;
use std::{env, fmt, fs};

use kube::{Client, Config};

pub use folder::Folder;
pub use raw::{Answer, Events, Raw};
pub use real::{RealServer, StartError};

/// The variable that says which server the tests run against.
pub const SERVER_VARIABLE: &str = "KUBE_INFORMER_TEST_SERVER";

/// Which server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The server of `kube-embedded`, in this process.
    Embedded,
    /// kube-apiserver with etcd, in processes of their own.
    Real,
}

impl Kind {
    /// The kind that the environment asks for.
    ///
    /// # Panics
    /// When the variable holds anything but a kind: a test against the wrong server would prove nothing.
    pub fn asked_for() -> Self {
        match env::var(SERVER_VARIABLE).as_deref() {
            Err(env::VarError::NotPresent) | Ok("" | "embedded") => Self::Embedded,
            Ok("real") => Self::Real,
            other => panic!("{SERVER_VARIABLE} must be `embedded` or `real`, not {other:?}"),
        }
    }
}

/// A server, a client for it and a namespace that belongs to this test alone.
pub struct TestServer {
    /// An administrator's client, made on this test's runtime.
    pub client: Client,
    /// The test's own namespace; it exists.
    pub namespace: String,
    /// Which server this is.
    pub kind: Kind,
    server: Arc<Server>,
}

/// What has to live as long as the test.
#[derive(Debug)]
pub(crate) enum Server {
    Embedded(embedded::Server),
    Real(Arc<RealServer>),
}

impl TestServer {
    /// The server that the environment asks for. A real one is shared by all tests of the process.
    ///
    /// # Panics
    /// When the server does not start; the message says why.
    pub async fn start() -> Self {
        match Kind::asked_for() {
            Kind::Embedded => Self::on(Server::Embedded(started(embedded::Server::start().await))).await,
            Kind::Real => Self::on(Server::Real(started(RealServer::shared().await))).await,
        }
    }

    /// As [`TestServer::start`], with a server that no other test uses: for tests that stop it, freeze it or make it
    /// forget. It ends with this value.
    ///
    /// # Panics
    /// When the server does not start; the message says why.
    pub async fn alone() -> Self {
        match Kind::asked_for() {
            Kind::Embedded => Self::on(Server::Embedded(started(embedded::Server::start().await))).await,
            Kind::Real => Self::on(Server::Real(Arc::new(started(RealServer::start().await)))).await,
        }
    }

    /// The embedded server, with a client that needs no socket: for tests on a paused clock.
    ///
    /// # Panics
    /// When the environment asks for a real server, whose time cannot be paused, or when the server does not start.
    pub async fn embedded_without_sockets() -> Self {
        assert_eq!(
            Kind::asked_for(),
            Kind::Embedded,
            "this test needs the embedded server; `cargo xtask test --real` leaves its suite out"
        );
        let server = started(embedded::Server::start().await);
        let client = server.inner().direct_client();
        Self::with(Server::Embedded(server), client, Kind::Embedded).await
    }

    async fn on(server: Server) -> Self {
        let (client, kind) = match &server {
            Server::Embedded(server) => (started(server.client()), Kind::Embedded),
            Server::Real(server) => (started(server.client().await), Kind::Real),
        };
        Self::with(server, client, kind).await
    }

    async fn with(server: Server, client: Client, kind: Kind) -> Self {
        let namespace = match namespace::create(&client).await {
            Ok(name) => name,
            Err(error) => panic!("the test's namespace was not created: {error}"),
        };
        Self {
            client,
            namespace,
            kind,
            server: Arc::new(server),
        }
    }

    /// The same server, with another namespace in place of the test's own.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Self {
        Self {
            client: self.client.clone(),
            namespace: namespace.to_owned(),
            kind: self.kind,
            server: Arc::clone(&self.server),
        }
    }

    /// Requests by path, answers as they are: for tests about the API itself.
    pub fn raw(&self) -> Raw {
        Raw::new(self.client.clone(), self.namespace.clone(), self.server.clone())
    }

    /// The embedded server behind this one, for what only an embedded one has: faults and the record of requests.
    pub fn embedded(&self) -> Option<&kube_embedded::Server> {
        match &*self.server {
            Server::Embedded(server) => Some(server.inner()),
            Server::Real(_) => None,
        }
    }

    /// Stops the server as a crash would: connections break, and new ones are refused. On a server of one's own only.
    pub async fn go_down(&self) {
        match &*self.server {
            Server::Embedded(server) => server.inner().go_down().await,
            Server::Real(server) => server.apiserver().kill().await,
        }
    }

    /// Starts a server that went down again, at the same address and with the same objects.
    ///
    /// # Panics
    /// When it does not come back.
    pub async fn come_back(&self) {
        match &*self.server {
            Server::Embedded(server) => {
                let back = server.inner().come_back().await;
                back.unwrap_or_else(|error| panic!("the server did not come back: {error}"));
            }
            Server::Real(server) => started(server.apiserver().restart().await),
        }
    }

    /// Makes the server forget its history, so that older versions are answered with 410. On a server of one's own only.
    ///
    /// # Panics
    /// When the real server does not come back.
    pub async fn forget_history(&self) {
        match &*self.server {
            Server::Embedded(server) => server.inner().compact_history(),
            Server::Real(server) => started(server.forget_history().await),
        }
    }

    /// Says that this test needs the controllers that delete what namespaces hold and what owners own. On the real side
    /// they are a program of their own.
    ///
    /// # Panics
    /// When they do not run.
    pub fn require_controllers(&self) {
        let real = self.real();
        assert!(
            real.is_none_or(RealServer::has_controllers),
            "this test needs kube-controller-manager in $KUBEBUILDER_ASSETS (`cargo xtask real-server` builds it)"
        );
    }

    /// An administrator's configuration, for clients that are made in another way.
    ///
    /// # Panics
    /// When the real server's kubeconfig cannot be read.
    pub async fn config(&self) -> Config {
        match &*self.server {
            Server::Embedded(server) => server.inner().client_config(),
            Server::Real(server) => started(server.config().await),
        }
    }

    /// Writes a kubeconfig for this server, for programs that are not this one.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn write_kubeconfig(&self, path: &Path) {
        let written = match &*self.server {
            Server::Embedded(server) => server
                .inner()
                .write_kubeconfig(path)
                .map(drop)
                .map_err(|e| e.to_string()),
            Server::Real(server) => fs::copy(server.kubeconfig(), path)
                .map(drop)
                .map_err(|e| e.to_string()),
        };
        if let Err(error) = written {
            panic!("no kubeconfig at {}: {error}", path.display());
        }
    }

    /// The real server behind this one, for what only a real one has: processes, files, kubectl.
    pub fn real(&self) -> Option<&RealServer> {
        match &*self.server {
            Server::Real(server) => Some(server),
            Server::Embedded(_) => None,
        }
    }
}

impl fmt::Debug for TestServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TestServer")
            .field("namespace", &self.namespace)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

fn started<T>(outcome: Result<T, StartError>) -> T {
    match outcome {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}
