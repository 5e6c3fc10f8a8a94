//! HTTP/1.1: a connection for each watch, and reuse of free connections.

use http::header::UPGRADE;
use kube::Config;
use kube_embedded::Server;
use kube_informer::client::watching_client;

use crate::requests::{answer, get, read, soon, until_broken, watches};

async fn old_server() -> Server {
    Server::builder().only_http1().start().await.expect("a server")
}

fn plain(server: &Server) -> Config {
    Config::new(server.http_url().parse().expect("a URL"))
}

#[tokio::test]
async fn without_http2_each_watch_has_its_own_connection() {
    let server = old_server().await;
    let client = watching_client(server.client_config()).expect("a client");
    let watches = watches(&client, 40).await;
    assert_eq!(server.connections(), 40);
    assert!(server.requests().iter().all(|r| r.http_version == "HTTP/1.1"));
    drop(watches);
}

#[tokio::test]
async fn without_tls_each_watch_has_its_own_connection() {
    let server = Server::start().await.expect("a server");
    let client = watching_client(plain(&server)).expect("a client");
    let watches = watches(&client, 40).await;
    assert_eq!(server.connections(), 40);
    drop(watches);
}

#[tokio::test]
async fn a_free_connection_is_reused() {
    let server = old_server().await;
    let client = watching_client(server.client_config()).expect("a client");
    for _ in 0..10 {
        read(answer(&client, "/api/v1/pods").await).await;
    }
    assert_eq!(server.connections(), 1);
    // A body that is not read to its end closes its connection.
    drop(watches(&client, 1).await);
    read(answer(&client, "/api/v1/pods").await).await;
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn lost_free_connections_are_replaced() {
    let server = old_server().await;
    let client = watching_client(server.client_config()).expect("a client");
    let mut watches = watches(&client, 1).await;
    let lists = futures::future::join_all((0..5).map(|_| answer(&client, "/api/v1/pods"))).await;
    futures::future::join_all(lists.into_iter().map(read)).await;
    assert_eq!(server.connections(), 6);
    server.cut_connections();
    until_broken(watches.remove(0)).await;
    read(answer(&client, "/api/v1/pods").await).await;
    assert_eq!(server.connections(), 7);
}

#[tokio::test]
async fn a_protocol_upgrade_uses_http1() {
    let server = Server::start().await.expect("a server");
    let client = watching_client(server.client_config()).expect("a client");
    read(answer(&client, "/api/v1/pods").await).await;
    let mut request = get("/api/v1/services");
    request
        .headers_mut()
        .insert(UPGRADE, "websocket".parse().expect("a value"));
    soon("an answer", client.send(request)).await.expect("an answer");
    let versions: Vec<String> = server.requests().iter().map(|r| r.http_version.clone()).collect();
    assert_eq!(versions, ["HTTP/2.0", "HTTP/1.1"]);
}

#[tokio::test]
async fn the_http_version_is_negotiated_again_after_a_restart() {
    let old = old_server().await;
    let mut config = old.client_config();
    // Each server has its own certificate authority.
    config.accept_invalid_certs = true;
    let client = watching_client(config).expect("a client");
    let port = old.address().port();
    until_broken_by(old, watches(&client, 2).await.remove(0)).await;
    let new = Server::builder().port(port).start().await.expect("the same port");
    read(answer(&client, "/api/v1/pods").await).await;
    let mut shared = watches(&client, 10).await;
    assert_eq!(new.connections(), 1);
    new.cut_connections();
    until_broken(shared.remove(0)).await;
    let shared = watches(&client, 10).await;
    assert_eq!(new.connections(), 2);
    until_broken_by(new, shared.into_iter().next().expect("a watch")).await;
    let old = Server::builder().only_http1().port(port).start().await;
    let old = old.expect("the same port");
    let separate = watches(&client, 10).await;
    assert_eq!(old.connections(), 10);
    drop(separate);
}

async fn until_broken_by(server: Server, watch: http::Response<kube::client::Body>) {
    server.stop().await;
    until_broken(watch).await;
}
