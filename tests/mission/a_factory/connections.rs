//! A3: all informers of a client share its connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use kube::{Client, Config};
use kube_embedded::Server;
use kube_informer::{Discovery, SharedInformerFactory, watching_client};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::informers::{Maps, hearing, started, stopped};

/// Passes bytes on to a server, and counts the connections they come over.
struct Counter {
    connections: Arc<AtomicUsize>,
    passing: JoinHandle<()>,
}

impl Counter {
    /// Puts itself between the server of a configuration and whoever uses the configuration.
    async fn before(config: &mut Config) -> Counter {
        let url = &config.cluster_url;
        let server = format!(
            "{}:{}",
            url.host().expect("a host"),
            url.port_u16().expect("a port")
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        config.cluster_url = format!("https://{address}").parse().expect("a URL");
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let passing = tokio::spawn(async move {
            let mut tasks = JoinSet::new();
            while let Ok((mut here, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let server = server.clone();
                tasks.spawn(async move {
                    if let Ok(mut there) = TcpStream::connect(&server).await {
                        let _ = copy_bidirectional(&mut here, &mut there).await;
                    }
                });
            }
        });
        Counter { connections, passing }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.passing.abort();
    }
}

/// How many connections so many informers of one client make, each of which lists and watches.
async fn connections_of(count: usize) -> usize {
    let maps = Maps::holding(["before"]).await;
    let mut config = maps.server.config().await;
    let counter = Counter::before(&mut config).await;
    let client = watching_client(config).expect("a client");
    let (handlers, mut heard): (Vec<_>, Vec<_>) = (0..count).map(|_| hearing()).unzip();
    let informers: Vec<_> = handlers
        .into_iter()
        .map(|handler| {
            let informer = maps.builder_with(client.clone()).build();
            informer.add_handler(handler).expect("a handler");
            informer
        })
        .collect();
    join_all(informers.iter().map(started)).await;
    maps.create("after", "1").await;
    for heard in &mut heard {
        assert_eq!(heard.until("+after").await, ["*before", "+after"]);
    }
    join_all(informers.iter().map(stopped)).await;
    counter.connections()
}

#[tokio::test]
async fn a3_forty_informers_share_one_connection() {
    assert_eq!(connections_of(40).await, 1);
}

#[tokio::test]
async fn a3_informers_that_do_not_fit_on_one_connection_get_a_second() {
    assert_eq!(connections_of(150).await, 2);
}

/// Forty kinds of objects, each with an informer that has synced; the first kinds that a server tells of.
async fn forty_kinds(client: Client) -> SharedInformerFactory {
    let discovery = Discovery::ask(&client).await.expect("what the server serves");
    let factory = SharedInformerFactory::new(client);
    for resource in discovery
        .resources()
        .filter(|resource| resource.is_watchable())
        .take(40)
    {
        let _informer = factory.dynamic(resource);
    }
    assert_eq!(factory.statuses().len(), 40);
    super::started(&factory).await;
    factory
}

#[tokio::test]
async fn a3_forty_kinds_share_one_connection() {
    let maps = Maps::holding([]).await;
    let mut config = maps.server.config().await;
    let counter = Counter::before(&mut config).await;
    let factory = forty_kinds(watching_client(config).expect("a client")).await;
    assert_eq!(counter.connections(), 1);
    super::stopped(&factory).await;
}

#[tokio::test]
async fn a3_forty_kinds_have_connections_of_their_own_without_http2() {
    let server = Server::builder().only_http1().start().await.expect("a server");
    let factory = forty_kinds(watching_client(server.client_config()).expect("a client")).await;
    // A list or discovery may have left one that is free.
    let connections = server.connections();
    assert!((40..=45).contains(&connections), "{connections} connections");
    super::stopped(&factory).await;
    server.stop().await;
}
