//! Errors of starting a server.

use std::path::PathBuf;
use std::sync::Arc;

/// The reason why a server did not start. It can be cloned for every test that waits for a shared server.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The embedded server did not start.
    #[error("the embedded server did not start: {0}")]
    Embedded(Arc<kube_embedded::Error>),
    /// `KUBEBUILDER_ASSETS` is not set.
    #[error("KUBEBUILDER_ASSETS is not set; `cargo xtask test --real` prepares a real server and sets it")]
    NoAssets,
    /// A program is missing in the folder.
    #[error("KUBEBUILDER_ASSETS is {folder:?}, which has no {program}")]
    Missing {
        /// The program.
        program: &'static str,
        /// The folder.
        folder: PathBuf,
    },
    /// A server ended before it was ready.
    #[error("{program} ended before it was ready; its log ends with:\n{log_tail}")]
    Ended {
        /// The server.
        program: &'static str,
        /// The end of its log.
        log_tail: String,
    },
    /// A server did not become ready in time.
    #[error("{program} was not ready after {seconds} s; its log ends with:\n{log_tail}")]
    NotReady {
        /// The server.
        program: &'static str,
        /// The timeout, in seconds.
        seconds: u64,
        /// The end of its log.
        log_tail: String,
    },
    /// An error of files or processes.
    #[error("the real server was not set up: {0}")]
    Io(Arc<std::io::Error>),
    /// A client or a request failed.
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
