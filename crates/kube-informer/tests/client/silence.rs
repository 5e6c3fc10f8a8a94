//! Detection of silent connections.

use std::time::Duration;

use http_body_util::BodyExt;
use kube_embedded::Server;
use kube_informer::client::watching_client;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::requests::{soon, watches};

/// Forwards bytes until the line is cut: then the connection stays open and silent.
async fn line_to(server: &Server) -> (u16, watch::Sender<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (dead, mut is_dead) = watch::channel(false);
    let server = server.address();
    tokio::spawn(async move {
        let (mut here, _) = listener.accept().await.expect("a connection");
        let mut there = TcpStream::connect(server).await.expect("a connection");
        tokio::select! {
            _ = copy_bidirectional(&mut here, &mut there) => {}
            _ = is_dead.wait_for(|dead| *dead) => {}
        }
        // Runs as long as the test.
        is_dead.changed().await.unwrap_or_default();
    });
    (port, dead)
}

#[tokio::test]
async fn a_silent_connection_is_closed_after_an_unanswered_ping() {
    let server = Server::start().await.expect("a server");
    let (port, dead) = line_to(&server).await;
    let mut config = server.client_config();
    config.cluster_url = format!("https://127.0.0.1:{port}").parse().expect("a URL");
    let client = watching_client(config).expect("a client");
    let mut watch = watches(&client, 1).await.remove(0).into_body();
    dead.send_replace(true);
    tokio::time::pause();
    let began = Instant::now();
    let breaking = async { while let Some(Ok(_)) = watch.frame().await {} };
    soon("the end of a dead line", breaking).await;
    let silence = began.elapsed();
    let expected = Duration::from_secs(40)..Duration::from_secs(50);
    assert!(expected.contains(&silence), "given up after {silence:?}");
    drop(dead);
}
