//! Why there is no server to test against.

use std::path::PathBuf;
use std::sync::Arc;

/// Why a server did not start. It is cloned to every test that waited for the shared one.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The embedded server did not start.
    #[error("the embedded server did not start: {0}")]
    Embedded(Arc<kube_embedded::Error>),
    /// Nobody said where kube-apiserver and etcd are.
    #[error("KUBEBUILDER_ASSETS is not set; `cargo xtask test --real` prepares a real server and sets it")]
    NoAssets,
    /// The folder lacks a program.
    #[error("KUBEBUILDER_ASSETS is {folder:?}, which has no {program}")]
    Missing {
        /// The program.
        program: &'static str,
        /// The folder.
        folder: PathBuf,
    },
    /// A server ended before it was ready.
    #[error("{program} ended before it was ready; it said:\n{last_words}")]
    Ended {
        /// The server.
        program: &'static str,
        /// The end of its log.
        last_words: String,
    },
    /// A server did not become ready in time.
    #[error("{program} was not ready after {seconds} s; it said:\n{last_words}")]
    NotReady {
        /// The server.
        program: &'static str,
        /// How long it was waited for.
        seconds: u64,
        /// The end of its log.
        last_words: String,
    },
    /// Files, processes.
    #[error("the real server was not set up: {0}")]
    Io(Arc<std::io::Error>),
    /// The client was not made, or a request did not succeed.
    #[error("the real server was not reached: {0}")]
    Client(Arc<dyn std::error::Error + Send + Sync>),
}

impl From<std::io::Error> for StartError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

impl From<kube::Error> for StartError {
    fn from(error: kube::Error) -> Self {
        Self::Client(Arc::new(error))
    }
}

impl From<kube::config::KubeconfigError> for StartError {
    fn from(error: kube::config::KubeconfigError) -> Self {
        Self::Client(Arc::new(error))
    }
}
