//! A TCP proxy with configurable network conditions.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use kube::Config;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Maximum number of bytes to forward at a time: small, so that a cut hits the middle of a message.
const CHUNK: usize = 4 << 10;
/// Interval of retries when the port is in use.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// The condition of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkCondition {
    /// Data is forwarded at once.
    Normal,
    /// Each chunk is delayed.
    Slow(Duration),
    /// The bandwidth is limited, in bytes per second for each direction of a connection.
    Narrow(u32),
    /// Connections are accepted and stay open, but no data is forwarded until this ends.
    Silent,
    /// Open connections break, and new ones are refused.
    Closed,
}

/// A proxy on a free loopback port. Dropping it breaks its connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    state: watch::Sender<ProxyState>,
    connections: watch::Receiver<usize>,
    accept_task: JoinHandle<()>,
}

#[derive(Clone, Copy, Debug)]
struct ProxyState {
    condition: NetworkCondition,
    upstream: SocketAddr,
    /// Number of cuts of all connections. A connection breaks when this changes.
    cuts: u64,
    /// Number of stalls of all connections. A connection forwards no data after this has changed.
    stalls: u64,
}

impl Proxy {
    /// Starts a proxy for a server.
    pub async fn start(upstream: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (state, seen) = watch::channel(ProxyState {
            condition: NetworkCondition::Normal,
            upstream,
            cuts: 0,
            stalls: 0,
        });
        let (accepted, connections) = watch::channel(0);
        let accept_task = tokio::spawn(accept_connections(listener, address, seen, accepted));
        Ok(Self {
            address,
            state,
            connections,
            accept_task,
        })
    }

    /// Starts a proxy for the server of a configuration, and changes the configuration to use it.
    pub async fn before(config: &mut Config) -> io::Result<Self> {
        let url = &config.cluster_url;
        let port = url
            .port_u16()
            .ok_or_else(|| io::Error::other("a URL without a port"))?;
        let host = url.host().unwrap_or_default().parse().map_err(io::Error::other)?;
        let proxy = Self::start(SocketAddr::new(host, port)).await?;
        let scheme = url.scheme_str().unwrap_or("https");
        config.cluster_url = format!("{scheme}://{}", proxy.address)
            .parse()
            .map_err(io::Error::other)?;
        Ok(proxy)
    }

    /// Returns the address that the proxy listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the condition of the network.
    pub fn set(&self, condition: NetworkCondition) {
        self.state.send_modify(|state| {
            state.condition = condition;
            state.cuts += u64::from(condition == NetworkCondition::Closed);
        });
    }

    /// Breaks all connections, including data in flight.
    pub fn cut(&self) {
        self.state.send_modify(|state| state.cuts += 1);
    }

    /// Stops forwarding on open connections, which stay open, as after a network failure. New connections
    /// work.
    pub fn stall(&self) {
        self.state.send_modify(|state| state.stalls += 1);
    }

    /// Returns the number of accepted connections.
    pub fn connections(&self) -> usize {
        *self.connections.borrow()
    }

    /// Waits until this many connections were accepted.
    pub async fn accepted(&self, count: usize) {
        let mut connections = self.connections.clone();
        // The sender exists as long as this value.
        let _ = connections.wait_for(|accepted| *accepted >= count).await;
    }

    /// Forwards new connections to another server, and breaks open ones.
    pub fn lead_to(&self, upstream: SocketAddr) {
        self.state.send_modify(|state| {
            state.upstream = upstream;
            state.cuts += 1;
        });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accept_task.abort();
    }
}

/// Accepts connections if the condition allows it. Connections can only be refused by not listening.
async fn accept_connections(
    listener: TcpListener,
    address: SocketAddr,
    mut state: watch::Receiver<ProxyState>,
    accepted: watch::Sender<usize>,
) {
    let mut open = Some(listener);
    loop {
        if state.borrow_and_update().condition == NetworkCondition::Closed {
            open = None;
        } else if open.is_none() {
            open = TcpListener::bind(address).await.ok();
        }
        tokio::select! {
            changed = state.changed() => if changed.is_err() {
                return;
            },
            accepted_client = accept(open.as_ref()) => if let Some(client) = accepted_client {
                accepted.send_modify(|count| *count += 1);
                tokio::spawn(carry(client, state.clone()));
            },
        }
    }
}

/// Accepts the next connection. Returns none after a while without a listener, so that the caller retries.
async fn accept(listener: Option<&TcpListener>) -> Option<TcpStream> {
    let Some(listener) = listener else {
        sleep(RETRY_INTERVAL).await;
        return None;
    };
    let (client, _) = listener.accept().await.ok()?;
    Some(client)
}

/// Forwards one connection until its end or the next cut.
async fn carry(client: TcpStream, mut state: watch::Receiver<ProxyState>) {
    let began = state.borrow().cuts;
    let mut cut = state.clone();
    tokio::select! {
        // An error means that the proxy was dropped.
        _ = cut.wait_for(|state| state.cuts != began) => {}
        _ = both_ways(client, &mut state) => {}
    }
}

async fn both_ways(client: TcpStream, state: &mut watch::Receiver<ProxyState>) -> io::Result<()> {
    let ProxyState { upstream, stalls, .. } = wait_until_forwarding(state, None).await?;
    let server = TcpStream::connect(upstream).await?;
    // Close both sides with a reset, like a lost connection.
    for side in [&client, &server] {
        side.set_nodelay(true)?;
        side.set_zero_linger()?;
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::try_join!(
        one_way(from_client, to_server, state.clone(), stalls),
        one_way(from_server, to_client, state.clone(), stalls),
    )?;
    Ok(())
}

async fn one_way(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut state: watch::Receiver<ProxyState>,
    stalls: u64,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = from.read(&mut chunk).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        match wait_until_forwarding(&mut state, Some(stalls)).await?.condition {
            NetworkCondition::Slow(wait) => sleep(wait).await,
            NetworkCondition::Narrow(bytes) => {
                let bytes_read = u32::try_from(read).unwrap_or(u32::MAX);
                sleep(Duration::from_secs(1) * bytes_read / bytes.max(1)).await;
            }
            NetworkCondition::Normal | NetworkCondition::Silent | NetworkCondition::Closed => {}
        }
        to.write_all(&chunk[..read]).await?;
    }
}

/// Waits until data can be forwarded; forever on a stalled connection.
async fn wait_until_forwarding(
    state: &mut watch::Receiver<ProxyState>,
    stalls: Option<u64>,
) -> io::Result<ProxyState> {
    let carries = |state: &ProxyState| {
        state.condition != NetworkCondition::Silent && stalls.is_none_or(|stalls| stalls == state.stalls)
    };
    let state = state.wait_for(carries).await;
    state.map(|state| *state).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    /// Starts a server that sends a prefix and then echoes its input.
    async fn echo(word: &'static str) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = client.split();
                    to.write_all(word.as_bytes()).await?;
                    tokio::io::copy(&mut from, &mut to).await
                });
            }
        });
        address
    }

    async fn says(connection: &mut TcpStream) -> io::Result<String> {
        let mut word = [0; 3];
        connection.read_exact(&mut word).await?;
        Ok(String::from_utf8_lossy(&word).into_owned())
    }

    #[tokio::test]
    async fn data_is_forwarded_in_both_directions() {
        let proxy = Proxy::start(echo("one").await).await.unwrap();
        let mut connection = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(says(&mut connection).await.unwrap(), "one");
        for condition in [
            NetworkCondition::Slow(Duration::from_millis(1)),
            NetworkCondition::Narrow(100_000),
        ] {
            proxy.set(condition);
            connection.write_all(b"two").await.unwrap();
            assert_eq!(says(&mut connection).await.unwrap(), "two");
        }
    }

    #[tokio::test]
    async fn cut_breaks_only_open_connections() {
        let proxy = Proxy::start(echo("one").await).await.unwrap();
        let mut connection = TcpStream::connect(proxy.address()).await.unwrap();
        says(&mut connection).await.unwrap();
        proxy.cut();
        assert!(says(&mut connection).await.is_err());
        let mut next = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(says(&mut next).await.unwrap(), "one");
    }

    #[tokio::test]
    async fn redirected_connections_reach_another_server() {
        let proxy = Proxy::start(echo("one").await).await.unwrap();
        let mut connection = TcpStream::connect(proxy.address()).await.unwrap();
        says(&mut connection).await.unwrap();
        proxy.lead_to(echo("two").await);
        assert!(says(&mut connection).await.is_err());
        let mut next = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(says(&mut next).await.unwrap(), "two");
    }

    /// On a paused clock an hour passes when all tasks are idle.
    #[tokio::test(start_paused = true)]
    async fn silence_lasts_until_it_ends() {
        let proxy = Proxy::start(echo("one").await).await.unwrap();
        let mut open = TcpStream::connect(proxy.address()).await.unwrap();
        says(&mut open).await.unwrap();
        proxy.set(NetworkCondition::Silent);
        open.write_all(b"two").await.unwrap();
        let mut new = TcpStream::connect(proxy.address()).await.unwrap();
        let hour = Duration::from_hours(1);
        assert!(timeout(hour, open.peek(&mut [0])).await.is_err());
        assert!(timeout(hour, new.peek(&mut [0])).await.is_err());
        proxy.set(NetworkCondition::Normal);
        assert_eq!(says(&mut open).await.unwrap(), "two");
        assert_eq!(says(&mut new).await.unwrap(), "one");
    }

    /// On a paused clock an hour passes when all tasks are idle.
    #[tokio::test(start_paused = true)]
    async fn stall_affects_only_open_connections() {
        let proxy = Proxy::start(echo("one").await).await.unwrap();
        let mut open = TcpStream::connect(proxy.address()).await.unwrap();
        says(&mut open).await.unwrap();
        proxy.stall();
        open.write_all(b"two").await.unwrap();
        let hour = Duration::from_hours(1);
        assert!(timeout(hour, open.peek(&mut [0])).await.is_err());
        let mut new = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(says(&mut new).await.unwrap(), "one");
        proxy.accepted(2).await;
        assert_eq!(proxy.connections(), 2);
    }

    #[tokio::test]
    async fn closed_proxy_refuses_connections_until_it_is_reopened() {
        let proxy = Proxy::start(echo("one").await).await.unwrap();
        let mut connection = TcpStream::connect(proxy.address()).await.unwrap();
        says(&mut connection).await.unwrap();
        proxy.set(NetworkCondition::Closed);
        assert!(says(&mut connection).await.is_err());
        while TcpStream::connect(proxy.address()).await.is_ok() {
            tokio::task::yield_now().await;
        }
        proxy.set(NetworkCondition::Normal);
        let mut next = loop {
            match TcpStream::connect(proxy.address()).await {
                Ok(connection) => break connection,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        assert_eq!(says(&mut next).await.unwrap(), "one");
    }
}
