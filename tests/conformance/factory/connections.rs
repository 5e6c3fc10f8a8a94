//! All informers of a client share its connections.

use conformance::chaos::Proxy;
use futures::future::join_all;
use kube_informer::client::watching_client;

use crate::config_maps::ConfigMaps;
use crate::informers::{recording_handler, started, stopped};
use crate::kinds::forty_kinds;

/// Returns the number of connections of a client with this many informers.
async fn connections_of(count: usize) -> usize {
    let maps = ConfigMaps::named(["before"]).await;
    let mut config = maps.server.config().await;
    let proxy = Proxy::before(&mut config).await.expect("a proxy");
    let client = watching_client(config).expect("a client");
    let (handlers, mut received): (Vec<_>, Vec<_>) = (0..count).map(|_| recording_handler()).unzip();
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
    for received in &mut received {
        assert_eq!(received.until("+after").await, ["*before", "+after"]);
    }
    join_all(informers.iter().map(stopped)).await;
    proxy.connections()
}

#[tokio::test]
async fn forty_informers_share_one_connection() {
    assert_eq!(connections_of(40).await, 1);
}

#[tokio::test]
async fn informers_beyond_the_stream_limit_get_a_second_connection() {
    assert_eq!(connections_of(150).await, 2);
}

#[tokio::test]
async fn forty_kinds_share_one_connection() {
    let maps = ConfigMaps::named([]).await;
    let mut config = maps.server.config().await;
    let proxy = Proxy::before(&mut config).await.expect("a proxy");
    let factory = forty_kinds(watching_client(config).expect("a client")).await;
    assert_eq!(proxy.connections(), 1);
    super::stopped(&factory).await;
}
