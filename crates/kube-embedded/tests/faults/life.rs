//! Servers beside each other, their ports, their connections and their end.

use std::io;
use std::net::TcpListener;
use std::task::Poll;
use std::time::Duration;

use http::Method;
use kube_embedded::{Error, Fault, On, Server};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::runtime::Handle;

use crate::wire::{MAPS, Next, STREAMING_LIST, Way, Wire, furnished, put, soon, watch_from};

#[tokio::test]
async fn servers_beside_each_other_know_nothing_of_each_other() {
    let servers = [
        furnished().await,
        furnished().await,
        Server::start().await.expect("a server"),
    ];
    put(&servers[0], "only-here", "1");
    servers[1].faults().add(On::any(), Fault::unavailable());
    let mut seen = Vec::new();
    for server in &servers {
        let answer = Wire::connect(server, Way::Https1).await.get(MAPS).await;
        seen.push(answer.json()["items"].as_array().map(Vec::len));
        assert_eq!(server.requests().len(), 1);
    }
    assert_eq!(seen, [Some(4), None, Some(0)]);
    let [first, second, third] = servers;
    soon(first.stop()).await;
    drop(second);
    Wire::connect(&third, Way::Https2).await.get(MAPS).await.json();
}

#[tokio::test]
async fn many_watches_share_one_connection() {
    let server = Server::builder().streams_per_connection(1000).start().await;
    let server = server.expect("a server");
    for way in [Way::Http2, Way::Https2] {
        let before = server.connections();
        let mut wire = Wire::connect(&server, way).await;
        let from = server.resource_version();
        let mut watches = Vec::new();
        for _ in 0..500 {
            watches.push(wire.watch(&watch_from(from)).await);
        }
        let name = format!("{way:?}").to_lowercase();
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
        // And a request beside them is not kept waiting.
        wire.get(MAPS).await.json();
        server.cut_connections();
        for events in &mut watches {
            assert_eq!(events.next().await, Next::Broken("".into()));
        }
    }
}

/// Waits until this many tasks are alive, which has to happen without anybody's doing.
async fn until_tasks(count: usize) {
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
    let server = furnished().await;
    let address = server.address();
    let mut open = Vec::new();
    for way in Way::ALL {
        let mut wire = Wire::connect(&server, way).await;
        let mut events = wire.watch(STREAMING_LIST).await;
        while events.expect().await != "BOOKMARK end" {}
        open.push((wire, events));
    }
    // One that is silent, one that waits, one that said nothing yet and one in the middle of its handshake.
    server
        .faults()
        .add(On::watch("configmaps"), Fault::SilenceAfterEvents(0));
    server
        .faults()
        .add(On::list("configmaps"), Fault::Delay(Duration::from_secs(60 * 60)));
    for way in Way::ALL {
        let mut wire = Wire::connect(&server, way).await;
        let events = wire.watch(STREAMING_LIST).await;
        open.push((wire, events));
    }
    let mut waiting = Wire::connect(&server, Way::Http2).await;
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
    until_tasks(before).await;
}

/// Lets every task that is ready run once. Unlike tokio's yielding, which lets the new ones run as well.
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
    // In a task of its own, which takes its turn among the others.
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
async fn stop_at_once_after_a_connection_does_not_hang() {
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
async fn stop_does_not_hang_when_connections_come_at_the_same_time() {
    for _ in 0..50 {
        let server = Server::start().await.expect("a server");
        let address = server.address();
        let knocking = tokio::spawn(async move { while TcpStream::connect(address).await.is_ok() {} });
        tokio::task::yield_now().await;
        soon(server.stop()).await;
        soon(knocking).await.expect("no panic");
    }
}

#[tokio::test]
async fn a_dropped_server_ends_as_well() {
    let before = Handle::current().metrics().num_alive_tasks();
    let server = furnished().await;
    let address = server.address();
    let mut wire = Wire::connect(&server, Way::Https2).await;
    let mut events = wire.watch(STREAMING_LIST).await;
    while events.expect().await != "BOOKMARK end" {}
    let direct = server.direct_client();
    drop(server);
    assert_eq!(events.next().await, Next::Broken("".into()));
    assert!(direct.apiserver_version().await.is_err());
    drop((wire, events, direct));
    until_tasks(before).await;
    TcpListener::bind(address).expect("the port is free");
}

#[tokio::test]
async fn a_server_listens_where_it_is_told_to() {
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
    Wire::connect(&again, Way::Https1).await.get(MAPS).await.json();
}

#[tokio::test]
async fn a_port_taken_while_down_is_an_error_and_not_the_end() {
    let server = furnished().await;
    server.go_down().await;
    let taken = TcpListener::bind(server.address()).expect("the port is free");
    match server.restart().await {
        Err(Error::Listen { source, .. }) => assert_eq!(source.kind(), io::ErrorKind::AddrInUse),
        other => panic!("{other:?}"),
    }
    drop(taken);
    server.restart().await.expect("the port again");
    assert_eq!(
        Wire::connect(&server, Way::Http1).await.get(MAPS).await.names(),
        ["a", "b", "c"]
    );
}
