//! HTTP/2: as few connections as the server allows.

use kube_embedded::Server;
use kube_informer::client::watching_client;

use crate::requests::{answer, get, read, soon, until_broken, watches};
use crate::small_server::{Identity, SmallServer};

#[tokio::test]
async fn forty_watches_that_begin_at_once_share_one_connection() {
    let server = Server::start().await.expect("a server");
    let client = watching_client(server.client_config()).expect("a client");
    let watches = watches(&client, 40).await;
    assert_eq!(server.connections(), 1);
    assert!(server.requests().iter().all(|r| r.http_version == "HTTP/2.0"));
    // Later watches share it, too.
    read(answer(&client, "/api/v1/pods").await).await;
    assert_eq!(server.connections(), 1);
    drop(watches);
}

#[tokio::test]
async fn watches_above_the_stream_limit_get_another_connection() {
    let server = Server::start().await.expect("a server");
    let client = watching_client(server.client_config()).expect("a client");
    let first = watches(&client, 150).await;
    assert_eq!(server.connections(), 2);
    // Each connection still has room for short requests.
    for _ in 0..20 {
        read(answer(&client, "/api/v1/pods").await).await;
    }
    assert_eq!(server.connections(), 2);
    // Watches that have ended make room.
    drop(first);
    let second = watches(&client, 150).await;
    assert_eq!(server.connections(), 2);
    drop(second);
}

#[tokio::test]
async fn a_limit_of_one_stream_per_connection_is_respected_from_the_start() {
    let server = Server::builder().streams_per_connection(1).start().await;
    let server = server.expect("a server");
    let client = watching_client(server.client_config()).expect("a client");
    let watches = watches(&client, 5).await;
    assert_eq!(server.connections(), 5);
    drop(watches);
}

#[tokio::test]
async fn a_connection_attempt_survives_the_request_that_started_it() {
    let server = Server::start().await.expect("a server");
    let client = watching_client(server.client_config()).expect("a client");
    let mut first = Box::pin(client.send(get("/api/v1/pods")));
    let mut second = Box::pin(client.send(get("/api/v1/services")));
    assert!(futures::poll!(&mut first).is_pending());
    // Once the second request is waiting, the connection attempt is running.
    tokio::select! {
        biased;
        _ = &mut second => {}
        () = tokio::task::yield_now() => {}
    }
    drop(first);
    soon("the second answer", second).await.expect("an answer");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn after_a_lost_connection_all_requests_share_a_new_one() {
    let server = Server::start().await.expect("a server");
    let client = watching_client(server.client_config()).expect("a client");
    let mut before = watches(&client, 2).await;
    server.cut_connections();
    until_broken(before.remove(0)).await;
    let after = watches(&client, 40).await;
    assert_eq!(server.connections(), 2);
    drop(after);
}

#[tokio::test]
async fn a_restarted_server_is_reconnected() {
    let server = Server::start().await.expect("a server");
    let client = watching_client(server.client_config()).expect("a client");
    let mut before = watches(&client, 1).await;
    server.go_down().await;
    until_broken(before.remove(0)).await;
    for _ in 0..3 {
        assert!(soon("a refusal", client.send(get("/api/v1/pods"))).await.is_err());
    }
    server.restart().await.expect("the same port");
    read(answer(&client, "/api/v1/pods").await).await;
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_connection_after_goaway_gets_no_new_requests() {
    let server = SmallServer::tls(&Identity::loopback()).await;
    let client = watching_client(server.config()).expect("a client");
    let mut watch = answer(&client, "/stream").await.into_body();
    server.send_goaway();
    // This piece follows the GOAWAY frame on the wire.
    server.send("one").await;
    assert_eq!(next(&mut watch).await, "one");
    read(answer(&client, "/short").await).await;
    assert_eq!(server.connections(), 2);
    // Open requests continue.
    server.send("two").await;
    assert_eq!(next(&mut watch).await, "two");
}

async fn next(body: &mut kube::client::Body) -> String {
    let frame = soon("a piece of a body", http_body_util::BodyExt::frame(body)).await;
    let data = frame.expect("one more").expect("no failure").into_data();
    String::from_utf8_lossy(&data.expect("data")).into_owned()
}

fn new_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Returns a client of a server that accepts connections and never responds.
fn client_of_silent_server(runtime: &tokio::runtime::Runtime) -> (kube::Client, tokio::net::TcpListener) {
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .expect("a listener");
    let address = listener.local_addr().expect("an address");
    let config = kube::Config::new(format!("https://{address}").parse().expect("a URL"));
    let _inside = runtime.enter();
    (watching_client(config).expect("a client"), listener)
}

/// The connection attempt is a task of the runtime of the request, which may end before the client.
#[test]
fn after_an_attempt_was_cancelled_with_its_runtime_the_next_request_connects() {
    let runtime = new_runtime();
    let (client, listener) = client_of_silent_server(&runtime);
    let connects = || async {
        tokio::select! {
            answer = client.send(get("/version")) => panic!("no connection was made: {answer:?}"),
            accepted = listener.accept() => accepted.expect("a connection"),
        }
    };
    let first = new_runtime();
    let _connection = first.block_on(async { soon("a connection", connects()).await });
    drop(first);
    runtime.block_on(async { soon("another connection", connects()).await });
}

/// A request that waits for the attempt of another request starts its own when that is cancelled.
#[test]
fn a_request_that_waits_for_an_attempt_in_another_runtime_survives_its_end() {
    let runtime = new_runtime();
    let (client, listener) = client_of_silent_server(&runtime);
    let first = new_runtime();
    let leading = client.send(get("/version"));
    let _connection = first.block_on(async {
        tokio::select! {
            answer = leading => panic!("no connection was made: {answer:?}"),
            accepted = soon("a connection", listener.accept()) => accepted.expect("a connection"),
        }
    });
    runtime.block_on(async {
        let mut waiting = Box::pin(client.send(get("/version")));
        // After enough polls, the request waits for the connection, which cannot be observed otherwise.
        tokio::select! {
            biased;
            answer = &mut waiting => panic!("nothing answers: {answer:?}"),
            () = yielding(100) => {}
        }
        first.shutdown_background();
        tokio::select! {
            answer = waiting => panic!("no connection was made: {answer:?}"),
            accepted = soon("another connection", listener.accept()) => drop(accepted.expect("a connection")),
        }
    });
}

async fn yielding(times: usize) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}
