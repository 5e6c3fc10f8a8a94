//! A server of a cluster that can be killed, frozen and restarted.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::sync::Mutex;

use super::ready::on_free_port;
use super::server_process::ServerProcess;
use super::{ClusterFiles, StartError};

/// A server on a free loopback port.
///
/// The process ends when this is dropped, and when the test process ends, even if it is killed.
#[derive(Debug)]
pub struct Node<R> {
    pub(super) role: R,
    pub(super) process: Mutex<ServerProcess>,
    pub(super) port: u16,
    pub(super) files: Arc<ClusterFiles>,
}

/// The role of a server.
pub(super) trait Role {
    /// Starts the program and waits until it is ready.
    async fn run(&self, files: &ClusterFiles, port: u16) -> Result<ServerProcess, StartError>;
}

impl<R> Node<R> {
    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Kills it like a crash. Connections break, and new ones are refused until [`Node::restart`].
    pub async fn kill(&self) {
        self.process.lock().await.kill();
    }

    /// Freezes it: connections stay open without traffic.
    pub async fn freeze(&self) -> Result<(), StartError> {
        Ok(self.process.lock().await.freeze()?)
    }

    /// Resumes a frozen one.
    pub async fn thaw(&self) -> Result<(), StartError> {
        Ok(self.process.lock().await.thaw()?)
    }
}

#[expect(private_bounds, reason = "roles are private")]
impl<R: Role> Node<R> {
    pub(super) async fn start_as(role: R, files: &Arc<ClusterFiles>) -> Result<Self, StartError> {
        let (process, port) = on_free_port(async |port| role.run(files, port).await).await?;
        Ok(Self {
            role,
            process: Mutex::new(process),
            port,
            files: Arc::clone(files),
        })
    }

    /// Kills it if it runs, restarts it at the same address with the same data, and waits until it is ready.
    pub async fn restart(&self) -> Result<(), StartError> {
        let mut process = self.process.lock().await;
        process.kill();
        *process = self.role.run(&self.files, self.port).await?;
        Ok(())
    }
}
