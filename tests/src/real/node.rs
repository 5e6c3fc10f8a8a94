//! A server of a cluster that can be disturbed, whatever it serves.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::sync::Mutex;

use super::ready::on_free_port;
use super::supervised::Supervised;
use super::{Home, StartError};

/// A server on a free port of loopback.
///
/// The process ends with this value, and with the test process, also when that is killed.
#[derive(Debug)]
pub struct Node<R> {
    pub(super) role: R,
    pub(super) process: Mutex<Supervised>,
    pub(super) port: u16,
    pub(super) home: Arc<Home>,
}

/// What a server is there for.
pub(super) trait Role {
    /// Starts the program and returns when it is ready.
    async fn run(&self, home: &Home, port: u16) -> Result<Supervised, StartError>;
}

impl<R> Node<R> {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Kills it as a crash would. Connections break, and new ones are refused until [`Node::restart`].
    pub async fn kill(&self) {
        self.process.lock().await.kill();
    }

    /// Stops it in its tracks: connections stay open and say nothing.
    pub async fn freeze(&self) -> Result<(), StartError> {
        Ok(self.process.lock().await.freeze()?)
    }

    /// Lets a frozen one go on.
    pub async fn thaw(&self) -> Result<(), StartError> {
        Ok(self.process.lock().await.thaw()?)
    }
}

#[expect(private_bounds, reason = "what a server is there for is decided here")]
impl<R: Role> Node<R> {
    pub(super) async fn start_as(role: R, home: &Arc<Home>) -> Result<Self, StartError> {
        let (process, port) = on_free_port(async |port| role.run(home, port).await).await?;
        Ok(Self {
            role,
            process: Mutex::new(process),
            port,
            home: Arc::clone(home),
        })
    }

    /// Kills it if it runs, starts it again at the same address with what it had, and returns when it is ready.
    pub async fn restart(&self) -> Result<(), StartError> {
        let mut process = self.process.lock().await;
        process.kill();
        *process = self.role.run(&self.home, self.port).await?;
        Ok(())
    }
}
