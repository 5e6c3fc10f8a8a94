//! Several servers in one process, ports, connections, and stopping.

use std::io;
use std::net::TcpListener;
use std::task::Poll;
use std::time::Duration;

use http::Method;
use kube_embedded::{Error, Fault, On, Server};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::runtime::Handle;

use crate::wire::{MAPS, Next, STREAMING_LIST, Transport, Wire, put, server_with_objects, soon, watch_from};

#[tokio::test]
async fn servers_are_independent() {
    let servers = [
        server_with_objects().await,
        server_with_objects().await,
        Server::start().await.expect("a server"),
    ];
    put(&servers[0], "only-here", "1");
    servers[1].faults().add(On::any(), Fault::unavailable());
    let mut seen = Vec::new();
    for server in &servers {
        let answer = Wire::connect(server, Transport::Https1).await.get(MAPS).await;
        seen.push(answer.json()["items"].as_array().map(Vec::len));
        assert_eq!(server.requests().len(), 1);
    }
    assert_eq!(seen, [Some(4), None, Some(0)]);
    let [first, second, third] = servers;
    soon(first.stop()).await;
    drop(second);
    Wire::connect(&third, Transport::Https2)
        .await
        .get(MAPS)
        .await
        .json();
}

#[tokio::test]
async fn many_watches_share_one_connection() {
    let server = Server::builder().streams_per_connection(1000).start().await;
    let server = server.expect("a server");
    for transport in [Transport::Http2, Transport::Https2] {
        let before = server.connections();
        let mut wire = Wire::connect(&server, transport).await;
        let from = server.resource_version();
        let mut watches = Vec::new();
        for _ in 0..500 {
            watches.push(wire.watch(&watch_from(from)).await);
        }
        let name = format!("{transport:?}").to_lowercase();
        put(&server, &name, "1");
        for events in &mut watches {
            assert_eq!(events.expect().await, format!("ADDED {name}"));
        }
        assert_eq!(server.connections(), before + 1);
        let watched = server
            .requests()
            .iter()
            .filter(|r| r.connection == before + 1)
            .count();
        assert_eq!(watched, 500);
        // Another request does not have to wait.
        wire.get(MAPS).await.json();
        server.cut_connections();
        for events in &mut watches {
            assert_eq!(events.next().await, Next::Broken("".into()));
        }
    }
}

/// Waits until at most this many tasks exist.
async fn wait_for_task_count(count: usize) {
    soon(async {
        while Handle::current().metrics().num_alive_tasks() > count {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn stop_ends_watches_tasks_and_frees_the_port() {
    let before = Handle::current().metrics().num_alive_tasks();
    let server = server_with_objects().await;
    let address = server.address();
    let mut open = Vec::new();
    for transport in Transport::ALL {
        let mut wire = Wire::connect(&server, transport).await;
        let mut events = wire.watch(STREAMING_LIST).await;
        while events.expect().await != "BOOKMARK end" {}
        open.push((wire, events));
    }
    // A silent watch, a waiting request, a connection without data, and one during its handshake.
    server
        .faults()
        .add(On::watch("configmaps"), Fault::SilenceAfterEvents(0));
    server
        .faults()
        .add(On::list("configmaps"), Fault::Delay(Duration::from_secs(60 * 60)));
    for transport in Transport::ALL {
        let mut wire = Wire::connect(&server, transport).await;
        let events = wire.watch(STREAMING_LIST).await;
        open.push((wire, events));
    }
    let mut waiting = Wire::connect(&server, Transport::Http2).await;
    let waiting = tokio::spawn(async move { waiting.send(Method::GET, MAPS, &[], "").await.is_err() });
    server
        .wait_for_request(|r| r.faults.iter().any(|f| f.starts_with("Delay")))
        .await;
    let mute = TcpStream::connect(address).await.expect("a connection");
    let handshaking = TcpStream::connect(address).await.expect("a connection");
    handshaking.try_write(&[0x16, 3, 1]).expect("three bytes");

    soon(server.stop()).await;

    let listener = TcpListener::bind(address).expect("the port is free");
    for (_, events) in &mut open {
        assert_eq!(events.next().await, Next::Broken("".into()));
    }
    assert!(
        soon(waiting).await.expect("no panic"),
        "a request in flight is broken off"
    );
    drop((open, mute, handshaking, listener));
    wait_for_task_count(before).await;
}

/// Runs every ready task once. Tokio's `yield_now` would also run new tasks.
async fn step() {
    let mut stepped = false;
    std::future::poll_fn(|cx| {
        if stepped {
            return Poll::Ready(());
        }
        stepped = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[tokio::test]
async fn a_connection_is_cut_before_its_task_has_run() {
    let server = Server::start().await.expect("a server");
    let mut socket = TcpStream::connect(server.address()).await.expect("a connection");
    // In a separate task, which is scheduled among the others.
    let cutting = tokio::spawn(async move {
        while server.connections() == 0 {
            step().await;
        }
        server.cut_connections();
        server
    });
    let server = soon(cutting).await.expect("no panic");
    let read = soon(socket.read(&mut [0])).await;
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    soon(server.stop()).await;
}

#[tokio::test]
async fn stop_directly_after_a_connection_does_not_hang() {
    for _ in 0..50 {
        let server = Server::start().await.expect("a server");
        let sockets = [
            TcpStream::connect(server.address()).await,
            TcpStream::connect(server.address()).await,
        ];
        tokio::task::yield_now().await;
        soon(server.stop()).await;
        drop(sockets);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_does_not_hang_during_new_connections() {
    for _ in 0..50 {
        let server = Server::start().await.expect("a server");
        let address = server.address();
        let connecting = tokio::spawn(async move { while TcpStream::connect(address).await.is_ok() {} });
        tokio::task::yield_now().await;
        soon(server.stop()).await;
        soon(connecting).await.expect("no panic");
    }
}

#[tokio::test]
async fn a_dropped_server_stops() {
    let before = Handle::current().metrics().num_alive_tasks();
    let server = server_with_objects().await;
    let address = server.address();
    let mut wire = Wire::connect(&server, Transport::Https2).await;
    let mut events = wire.watch(STREAMING_LIST).await;
    while events.expect().await != "BOOKMARK end" {}
    let direct = server.direct_client();
    drop(server);
    assert_eq!(events.next().await, Next::Broken("".into()));
    assert!(direct.apiserver_version().await.is_err());
    drop((wire, events, direct));
    wait_for_task_count(before).await;
    TcpListener::bind(address).expect("the port is free");
}

#[tokio::test]
async fn a_server_listens_on_the_requested_port() {
    let free = TcpListener::bind(("127.0.0.1", 0))
        .and_then(|l| l.local_addr())
        .expect("a free port");
    let server = Server::builder()
        .port(free.port())
        .start()
        .await
        .expect("a server");
    assert_eq!(server.address(), free);
    assert_eq!(server.url(), format!("https://{free}"));
    assert_eq!(server.http_url(), format!("http://{free}"));
    match Server::builder().port(free.port()).start().await {
        Err(Error::Listen { address, source }) => {
            assert_eq!(address, free);
            assert_eq!(source.kind(), io::ErrorKind::AddrInUse);
        }
        other => panic!("{other:?}"),
    }
    soon(server.stop()).await;
    let again = Server::builder()
        .port(free.port())
        .start()
        .await
        .expect("the port again");
    Wire::connect(&again, Transport::Https1)
        .await
        .get(MAPS)
        .await
        .json();
}

#[tokio::test]
async fn a_restart_on_a_used_port_is_an_error_and_can_be_repeated() {
    let server = server_with_objects().await;
    server.go_down().await;
    let taken = TcpListener::bind(server.address()).expect("the port is free");
    match server.restart().await {
        Err(Error::Listen { source, .. }) => assert_eq!(source.kind(), io::ErrorKind::AddrInUse),
        other => panic!("{other:?}"),
    }
    drop(taken);
    server.restart().await.expect("the port again");
    assert_eq!(
        Wire::connect(&server, Transport::Http1)
            .await
            .get(MAPS)
            .await
            .names(),
        ["a", "b", "c"]
    );
}
