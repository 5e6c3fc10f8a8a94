//! Errors of the functions that run a server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Errors of the functions that run a server. Clients get `Status` objects instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server cannot listen on its port.
    #[error("cannot listen on {address}")]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// The temporary certificates cannot be created.
    #[error("cannot create the server's certificate")]
    Certificate(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A file cannot be read, written or deleted.
    #[error("cannot {action} {path:?}")]
    File {
        /// The attempted action, for example `read`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause. Its kind is `AlreadyExists` if the file exists and was not written by a server.
        source: io::Error,
    },
    /// A manifest cannot be loaded.
    #[error("cannot load {what}: {why}")]
    Manifest {
        /// The kind and name of the object, or the file.
        what: String,
        /// The response of the API, or the syntax error.
        why: String,
    },
    /// No client can be created for the server.
    #[error("cannot create a client for the server")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Returns what a user can do about the error.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("choose another port")
            }
            Error::File { action, source, .. } if action.starts_with("write") => match source.kind() {
                io::ErrorKind::AlreadyExists => Some("choose a path that does not exist"),
                io::ErrorKind::NotFound => Some("create the directory first"),
                _ => None,
            },
            _ => None,
        }
    }
}
