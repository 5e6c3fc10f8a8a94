//! Servers for the integration tests.
//!
//! A test is written once, against [`TestServer`], and `KUBE_INFORMER_TEST_SERVER` selects the server:
//! `embedded` (the default) or `real`, a kube-apiserver with etcd from `KUBEBUILDER_ASSETS`. `cargo xtask
//! test --real` prepares and sets both.

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
pub use raw::{Raw, Response, WatchEvents};
pub use real::{RealServer, StartError};

/// The variable that selects the server.
pub const SERVER_VARIABLE: &str = "KUBE_INFORMER_TEST_SERVER";

/// The kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The server of `kube-embedded`, in this process.
    Embedded,
    /// kube-apiserver with etcd, in separate processes.
    Real,
}

impl Kind {
    /// Returns the kind that the environment selects.
    ///
    /// # Panics
    /// If the value is invalid: a test against the wrong server would prove nothing.
    pub fn asked_for() -> Self {
        match env::var(SERVER_VARIABLE).as_deref() {
            Err(env::VarError::NotPresent) | Ok("" | "embedded") => Self::Embedded,
            Ok("real") => Self::Real,
            other => panic!("{SERVER_VARIABLE} must be `embedded` or `real`, not {other:?}"),
        }
    }
}

/// A server, a client and the namespace of a test.
pub struct TestServer {
    /// A client with all permissions, created on this test's runtime.
    pub client: Client,
    /// The test's own namespace, which exists.
    pub namespace: String,
    /// The kind of the server.
    pub kind: Kind,
    server: Arc<Backend>,
}

/// The server, which must exist as long as the test.
#[derive(Debug)]
pub(crate) enum Backend {
    Embedded(Box<embedded::EmbeddedServer>),
    Real(Arc<RealServer>),
}

impl TestServer {
    /// Starts the server that the environment selects. A real one is shared by all tests of the process.
    ///
    /// # Panics
    /// If the server does not start.
    pub async fn start() -> Self {
        match Kind::asked_for() {
            Kind::Embedded => {
                let server = started(embedded::EmbeddedServer::start().await);
                Self::on(Backend::Embedded(Box::new(server))).await
            }
            Kind::Real => Self::on(Backend::Real(started(RealServer::shared().await))).await,
        }
    }

    /// Like [`TestServer::start`], with a server that authorizes requests by RBAC, as the real one always does.
    ///
    /// # Panics
    /// If the server does not start.
    pub async fn with_rbac() -> Self {
        match Kind::asked_for() {
            Kind::Embedded => {
                let server = started(embedded::EmbeddedServer::with_rbac().await);
                Self::on(Backend::Embedded(Box::new(server))).await
            }
            Kind::Real => Self::start().await,
        }
    }

    /// Like [`TestServer::start`], with a server that no other test uses: for tests that stop it, freeze it
    /// or compact its history. Dropping this ends the server.
    ///
    /// # Panics
    /// If the server does not start.
    pub async fn alone() -> Self {
        match Kind::asked_for() {
            Kind::Embedded => {
                let server = started(embedded::EmbeddedServer::start().await);
                Self::on(Backend::Embedded(Box::new(server))).await
            }
            Kind::Real => Self::on(Backend::Real(Arc::new(started(RealServer::start().await)))).await,
        }
    }

    /// Starts the embedded server, with a client that needs no socket: for tests on a paused clock.
    ///
    /// # Panics
    /// If the environment selects a real server, whose time cannot be paused, or if the server does not
    /// start.
    pub async fn embedded_without_sockets() -> Self {
        assert_eq!(
            Kind::asked_for(),
            Kind::Embedded,
            "this test needs the embedded server; `cargo xtask test --real` does not run its suite"
        );
        let server = started(embedded::EmbeddedServer::start().await);
        let client = server.inner().direct_client();
        Self::with(Backend::Embedded(Box::new(server)), client, Kind::Embedded).await
    }

    async fn on(server: Backend) -> Self {
        let (client, kind) = match &server {
            Backend::Embedded(server) => (started(server.client()), Kind::Embedded),
            Backend::Real(server) => (started(server.client().await), Kind::Real),
        };
        Self::with(server, client, kind).await
    }

    async fn with(server: Backend, client: Client, kind: Kind) -> Self {
        let namespace = match namespace::create(&client).await {
            Ok(name) => name,
            Err(error) => panic!("cannot create the test's namespace: {error}"),
        };
        Self {
            client,
            namespace,
            kind,
            server: Arc::new(server),
        }
    }

    /// Returns the same server with another namespace.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Self {
        Self {
            client: self.client.clone(),
            namespace: namespace.to_owned(),
            kind: self.kind,
            server: Arc::clone(&self.server),
        }
    }

    /// Returns a client for requests by path: for tests of the API itself.
    pub fn raw(&self) -> Raw {
        Raw::new(self.client.clone(), self.namespace.clone(), self.server.clone())
    }

    /// Returns the embedded server, for tests that need its faults and its record of requests.
    pub fn embedded(&self) -> Option<&kube_embedded::Server> {
        match &*self.server {
            Backend::Embedded(server) => Some(server.inner()),
            Backend::Real(_) => None,
        }
    }

    /// Stops the server like a crash: connections break, and new ones are refused. Only for a server that no
    /// other test uses.
    pub async fn go_down(&self) {
        match &*self.server {
            Backend::Embedded(server) => server.inner().go_down().await,
            Backend::Real(server) => server.apiserver().kill().await,
        }
    }

    /// Restarts a stopped server, at the same address and with the same objects.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn restart(&self) {
        match &*self.server {
            Backend::Embedded(server) => {
                let back = server.inner().restart().await;
                back.unwrap_or_else(|error| panic!("the server did not restart: {error}"));
            }
            Backend::Real(server) => started(server.apiserver().restart().await),
        }
    }

    /// Compacts the server's history, so that older versions get 410. Only for a server that no other test
    /// uses.
    ///
    /// # Panics
    /// If the real server does not restart.
    pub async fn forget_history(&self) {
        match &*self.server {
            Backend::Embedded(server) => server.inner().compact_history(),
            Backend::Real(server) => started(server.forget_history().await),
        }
    }

    /// Checks that the controllers run that delete the contents of namespaces and owned objects. For the real
    /// server, they are a separate program.
    ///
    /// # Panics
    /// If they do not run.
    pub fn require_controllers(&self) {
        let real = self.real();
        assert!(
            real.is_none_or(RealServer::has_controllers),
            "this test needs kube-controller-manager in $KUBEBUILDER_ASSETS (`cargo xtask real-server` builds it)"
        );
    }

    /// Returns a configuration with all permissions, for clients that are created differently.
    ///
    /// # Panics
    /// If the real server's kubeconfig cannot be read.
    pub async fn config(&self) -> Config {
        match &*self.server {
            Backend::Embedded(server) => server.inner().client_config(),
            Backend::Real(server) => started(server.config().await),
        }
    }

    /// Writes a kubeconfig for this server, for other programs.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn write_kubeconfig(&self, path: &Path) {
        let written = match &*self.server {
            Backend::Embedded(server) => server
                .inner()
                .write_kubeconfig(path)
                .map(drop)
                .map_err(|e| e.to_string()),
            Backend::Real(server) => fs::copy(server.kubeconfig(), path)
                .map(drop)
                .map_err(|e| e.to_string()),
        };
        if let Err(error) = written {
            panic!("no kubeconfig at {}: {error}", path.display());
        }
    }

    /// Returns the real server, for tests that need its processes, files or kubectl.
    pub fn real(&self) -> Option<&RealServer> {
        match &*self.server {
            Backend::Real(server) => Some(server),
            Backend::Embedded(_) => None,
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
