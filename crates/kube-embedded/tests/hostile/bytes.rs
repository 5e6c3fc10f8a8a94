//! Invalid and incomplete HTTP.

use std::time::Duration;

use http::Method;
use kube_embedded::{Fault, On, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::wire::{MAPS, Transport, Wire, server_with_objects, soon};

/// Sends bytes and returns the response until the server closes the connection.
async fn exchange(server: &Server, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(server.address()).await.expect("a connection");
    // The server may close the connection before everything is sent.
    let _ = soon(socket.write_all(bytes)).await;
    let mut answer = Vec::new();
    let _ = soon(socket.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn assert_responsive(server: &Server) {
    for transport in Transport::ALL {
        let names = Wire::connect(server, transport).await.get(MAPS).await.names();
        assert_eq!(names, ["a", "b", "c"], "{transport:?}");
    }
}

#[tokio::test]
async fn garbage_gets_400_or_nothing() {
    let server = server_with_objects().await;
    for bytes in [
        &b"GARBAGE\r\n\r\n"[..],
        b"\0\x01\x02\r\n\r\n",
        b"GET /api\0 HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET / HTTP/9.9\r\nhost: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"\x16\x03\x01\0\x05hello",
        b"\x16garbage that only begins like TLS",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\ngarbage after the preface of HTTP/2",
    ] {
        let answer = exchange(&server, bytes).await;
        let is_http = answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 505");
        assert!(is_http || !answer.contains("HTTP/1.1"), "{bytes:?}: {answer}");
    }
    assert_responsive(&server).await;
}

#[tokio::test]
async fn long_heads_are_rejected() {
    let server = server_with_objects().await;
    let query = format!(
        "GET {MAPS}?x={} HTTP/1.1\r\nhost: x\r\n\r\n",
        "a".repeat(2_000_000)
    );
    let header = format!(
        "GET /version HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n",
        "a".repeat(2_000_000)
    );
    for head in [query, header] {
        let answer = exchange(&server, head.as_bytes()).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    assert_responsive(&server).await;
}

#[tokio::test]
async fn long_queries_are_accepted() {
    let server = server_with_objects().await;
    let selector = "a,".repeat(20_000) + "a";
    for transport in [Transport::Http1, Transport::Https1] {
        let answer = Wire::connect(&server, transport)
            .await
            .get(&format!("{MAPS}?labelSelector={selector}"))
            .await;
        assert_eq!((answer.code, answer.names().len()), (200, 0), "{transport:?}");
    }
}

#[tokio::test]
async fn incomplete_requests_write_nothing() {
    let server = server_with_objects().await;
    let before = server.resource_version();
    let object = r#"{"metadata":{"name":"half"}}"#;
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        object.len() + 1
    );
    for bytes in [
        &head[..10],
        &head[..head.len() - 2],
        &head,
        &format!("{head}{object}"),
    ] {
        let mut socket = TcpStream::connect(server.address()).await.expect("a connection");
        soon(socket.write_all(bytes.as_bytes()))
            .await
            .expect("some bytes");
        soon(socket.shutdown()).await.expect("an end");
        let mut answer = Vec::new();
        let _ = soon(socket.read_to_end(&mut answer)).await;
        assert!(!String::from_utf8_lossy(&answer).contains(" 201 "), "{bytes}");
    }
    assert_eq!(server.resource_version(), before);
    assert_responsive(&server).await;
}

#[tokio::test]
async fn silent_clients_do_not_block_others() {
    let server = server_with_objects().await;
    let mut silent = Vec::new();
    for first in [&b""[..], b"G", b"\x16", b"GET /api/v1/nodes HTTP/1.1\r\nhost"] {
        for _ in 0..25 {
            let socket = TcpStream::connect(server.address()).await.expect("a connection");
            socket.try_write(first).expect("some bytes");
            silent.push(socket);
        }
    }
    assert_responsive(&server).await;
    tokio::time::timeout(Duration::from_secs(20), server.stop())
        .await
        .expect("an end");
}

#[tokio::test]
async fn responses_follow_the_end_of_the_request() {
    let server = server_with_objects().await;
    server.faults().add(On::write("configmaps"), Fault::unavailable());
    for (method, path, code) in [
        ("POST", MAPS, 503),
        ("PUT", MAPS, 405),
        ("POST", "/api/v1/nothings", 404),
    ] {
        server.forget_requests();
        let mut socket = TcpStream::connect(server.address()).await.expect("a connection");
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n");
        soon(socket.write_all(head.as_bytes())).await.expect("a head");
        soon(server.wait_for_request(|r| r.method == method)).await;
        // While this request was handled, the first one could have got a response.
        assert_responsive(&server).await;
        assert_eq!(server.requests()[0].status, None, "{method} {path}");
        soon(socket.write_all(b"{}")).await.expect("a body");
        let mut answer = String::new();
        soon(socket.read_to_string(&mut answer)).await.expect("an answer");
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{answer}");
    }
}

#[tokio::test]
async fn unread_bodies_do_not_prevent_responses() {
    let server = server_with_objects().await;
    let long = "x".repeat(1_000_000);
    server.faults().add(On::write("configmaps"), Fault::unavailable());
    for transport in Transport::ALL {
        for (method, path, code) in [
            (Method::POST, MAPS, 503),
            (Method::PUT, MAPS, 405),
            (Method::POST, "/api/v1/nothings", 404),
            (Method::POST, "/nowhere", 404),
        ] {
            let mut wire = Wire::connect(&server, transport).await;
            let answer = wire.request_json(method.clone(), path, long.clone()).await;
            assert_eq!(
                (answer.code, answer.whole),
                (code, true),
                "{transport:?} {method} {path}"
            );
        }
    }
}
