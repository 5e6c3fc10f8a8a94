//! What can go wrong for the one who runs the server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What can go wrong for the one who runs the server. Clients get `Status` objects instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The port cannot be had.
    #[error("cannot listen on {address}; is the port in use?")]
    Listen {
        /// Where it was to listen.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The throw-away certificates could not be made.
    #[error("cannot make the server's certificate")]
    Certificate(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A file cannot be read, written or deleted.
    #[error("cannot {action} {path:?}")]
    File {
        /// What was attempted, for example `read`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed. The kind is `AlreadyExists` if a file was not overwritten because no server wrote it.
        source: io::Error,
    },
    /// A manifest is not an object the server takes.
    #[error("cannot load {what}: {why}")]
    Manifest {
        /// Which manifest: kind and name, or where it stands.
        what: String,
        /// What the API answered, or what is wrong with the text.
        why: String,
    },
    /// No client could be made for the server.
    #[error("cannot make a client for the server")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// What a person at a terminal can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        let Error::File { action, source, .. } = self else {
            return None;
        };
        match source.kind() {
            io::ErrorKind::AlreadyExists if action.starts_with("write") => {
                Some("choose a path that does not exist")
            }
            io::ErrorKind::NotFound if action.starts_with("write") => Some("create the directory first"),
            _ => None,
        }
    }
}
