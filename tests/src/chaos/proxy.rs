//! A TCP proxy whose connections fare as its weather says.

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

/// How much is carried at a time: small enough that a cut meets the middle of something.
const CHUNK: usize = 4 << 10;
/// How soon a port that somebody else holds is tried again.
const AGAIN: Duration = Duration::from_millis(10);

/// What happens to connections from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// All is carried at once.
    Fair,
    /// Each chunk waits for so long.
    Slow(Duration),
    /// So many bytes a second in each direction of a connection.
    Narrow(u32),
    /// Connections are accepted and open ones stay open, and nothing is carried until this ends.
    Silent,
    /// Open connections break, and new ones are refused.
    Closed,
}

/// A proxy on a free port of loopback. It ends with this value, and its connections break.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    sky: watch::Sender<Sky>,
    connections: watch::Receiver<usize>,
    door: JoinHandle<()>,
}

#[derive(Clone, Copy, Debug)]
struct Sky {
    weather: Weather,
    upstream: SocketAddr,
    /// How often all connections were cut; each breaks when this is no longer what it was.
    cuts: u64,
    /// How often all connections were stalled; each carries nothing more when this is no longer what it was.
    stalls: u64,
}

impl Proxy {
    /// A proxy to a server.
    pub async fn start(upstream: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (sky, seen) = watch::channel(Sky {
            weather: Weather::Fair,
            upstream,
            cuts: 0,
            stalls: 0,
        });
        let (accepted, connections) = watch::channel(0);
        let door = tokio::spawn(keep_door(listener, address, seen, accepted));
        Ok(Self {
            address,
            sky,
            connections,
            door,
        })
    }

    /// A proxy to the server of a configuration, which leads to the proxy from now on.
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the weather.
    pub fn set(&self, weather: Weather) {
        self.sky.send_modify(|sky| {
            sky.weather = weather;
            sky.cuts += u64::from(weather == Weather::Closed);
        });
    }

    /// Breaks all connections, with what they were carrying.
    pub fn cut(&self) {
        self.sky.send_modify(|sky| sky.cuts += 1);
    }

    /// Carries nothing more on the connections that are open, which stay open, as when something on the way has forgotten
    /// them. New connections are carried.
    pub fn stall(&self) {
        self.sky.send_modify(|sky| sky.stalls += 1);
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        *self.connections.borrow()
    }

    /// Waits until so many connections were accepted.
    pub async fn accepted(&self, count: usize) {
        let mut connections = self.connections.clone();
        // The sender lives as long as this value.
        let _ = connections.wait_for(|accepted| *accepted >= count).await;
    }

    /// Leads all who come from now on to another server, and breaks the connections to the last one.
    pub fn lead_to(&self, upstream: SocketAddr) {
        self.sky.send_modify(|sky| {
            sky.upstream = upstream;
            sky.cuts += 1;
        });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.door.abort();
    }
}

/// Accepts connections while the weather lets it. There is no way to refuse a connection but to stop listening.
async fn keep_door(
    listener: TcpListener,
    address: SocketAddr,
    mut sky: watch::Receiver<Sky>,
    accepted: watch::Sender<usize>,
) {
    let mut open = Some(listener);
    loop {
        if sky.borrow_and_update().weather == Weather::Closed {
            open = None;
        } else if open.is_none() {
            open = TcpListener::bind(address).await.ok();
        }
        tokio::select! {
            changed = sky.changed() => if changed.is_err() {
                return;
            },
            came = accept(open.as_ref()) => if let Some(client) = came {
                accepted.send_modify(|count| *count += 1);
                tokio::spawn(carry(client, sky.clone()));
            },
        }
    }
}

/// The next connection; none when it is time to look at the door again.
async fn accept(listener: Option<&TcpListener>) -> Option<TcpStream> {
    let Some(listener) = listener else {
        sleep(AGAIN).await;
        return None;
    };
    let (client, _) = listener.accept().await.ok()?;
    Some(client)
}

/// Carries one connection to its end, or to the next cut.
async fn carry(client: TcpStream, mut sky: watch::Receiver<Sky>) {
    let began = sky.borrow().cuts;
    let mut cut = sky.clone();
    tokio::select! {
        // An error means that the proxy is gone, and its connections go with it.
        _ = cut.wait_for(|sky| sky.cuts != began) => {}
        _ = both_ways(client, &mut sky) => {}
    }
}

async fn both_ways(client: TcpStream, sky: &mut watch::Receiver<Sky>) -> io::Result<()> {
    let Sky { upstream, stalls, .. } = heard(sky, None).await?;
    let server = TcpStream::connect(upstream).await?;
    // A connection that breaks tells both sides by a reset, as a lost one does.
    for side in [&client, &server] {
        side.set_nodelay(true)?;
        side.set_zero_linger()?;
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::try_join!(
        one_way(from_client, to_server, sky.clone(), stalls),
        one_way(from_server, to_client, sky.clone(), stalls),
    )?;
    Ok(())
}

async fn one_way(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut sky: watch::Receiver<Sky>,
    stalls: u64,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = from.read(&mut chunk).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        match heard(&mut sky, Some(stalls)).await?.weather {
            Weather::Slow(wait) => sleep(wait).await,
            Weather::Narrow(bytes) => {
                let bytes_read = u32::try_from(read).unwrap_or(u32::MAX);
                sleep(Duration::from_secs(1) * bytes_read / bytes.max(1)).await;
            }
            Weather::Fair | Weather::Silent | Weather::Closed => {}
        }
        to.write_all(&chunk[..read]).await?;
    }
}

/// Waits out a silence, for ever on a connection that was stalled since it began.
async fn heard(sky: &mut watch::Receiver<Sky>, stalls: Option<u64>) -> io::Result<Sky> {
    let carries =
        |sky: &Sky| sky.weather != Weather::Silent && stalls.is_none_or(|stalls| stalls == sky.stalls);
    let sky = sky.wait_for(carries).await;
    sky.map(|sky| *sky).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    /// A server that sends back what it gets, after a word of its own.
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
        for weather in [Weather::Slow(Duration::from_millis(1)), Weather::Narrow(100_000)] {
            proxy.set(weather);
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

    /// On a paused clock an hour passes when nothing else is left to do.
    #[tokio::test(start_paused = true)]
    async fn silence_lasts_until_it_ends() {
        let proxy = Proxy::start(echo("one").await).await.unwrap();
        let mut open = TcpStream::connect(proxy.address()).await.unwrap();
        says(&mut open).await.unwrap();
        proxy.set(Weather::Silent);
        open.write_all(b"two").await.unwrap();
        let mut new = TcpStream::connect(proxy.address()).await.unwrap();
        let hour = Duration::from_hours(1);
        assert!(timeout(hour, open.peek(&mut [0])).await.is_err());
        assert!(timeout(hour, new.peek(&mut [0])).await.is_err());
        proxy.set(Weather::Fair);
        assert_eq!(says(&mut open).await.unwrap(), "two");
        assert_eq!(says(&mut new).await.unwrap(), "one");
    }

    /// On a paused clock an hour passes when nothing else is left to do.
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
        proxy.set(Weather::Closed);
        assert!(says(&mut connection).await.is_err());
        while TcpStream::connect(proxy.address()).await.is_ok() {
            tokio::task::yield_now().await;
        }
        proxy.set(Weather::Fair);
        let mut next = loop {
            match TcpStream::connect(proxy.address()).await {
                Ok(connection) => break connection,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        assert_eq!(says(&mut next).await.unwrap(), "one");
    }
}
