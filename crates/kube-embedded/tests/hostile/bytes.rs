//! What is no HTTP, or only half of it.

use std::time::Duration;

use http::Method;
use kube_embedded::{Fault, On, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::wire::{MAPS, Way, Wire, furnished, soon};

/// Sends bytes and gives back whatever comes until the server closes.
async fn exchange(server: &Server, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(server.address()).await.expect("a connection");
    // A server that has seen enough closes before everything is sent.
    let _ = soon(socket.write_all(bytes)).await;
    let mut answer = Vec::new();
    let _ = soon(socket.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn is_well(server: &Server) {
    for way in Way::ALL {
        let names = Wire::connect(server, way).await.get(MAPS).await.names();
        assert_eq!(names, ["a", "b", "c"], "{way:?}");
    }
}

#[tokio::test]
async fn garbage_is_answered_with_400_or_nothing() {
    let server = furnished().await;
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
    is_well(&server).await;
}

#[tokio::test]
async fn long_heads_are_refused() {
    let server = furnished().await;
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
    is_well(&server).await;
}

#[tokio::test]
async fn a_long_query_is_read() {
    let server = furnished().await;
    let selector = "a,".repeat(20_000) + "a";
    for way in [Way::Http1, Way::Https1] {
        let answer = Wire::connect(&server, way)
            .await
            .get(&format!("{MAPS}?labelSelector={selector}"))
            .await;
        assert_eq!((answer.code, answer.names().len()), (200, 0), "{way:?}");
    }
}

#[tokio::test]
async fn half_a_request_writes_nothing() {
    let server = furnished().await;
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
    is_well(&server).await;
}

#[tokio::test]
async fn clients_that_say_nothing_hold_nobody_up() {
    let server = furnished().await;
    let mut silent = Vec::new();
    for first in [&b""[..], b"G", b"\x16", b"GET /api/v1/nodes HTTP/1.1\r\nhost"] {
        for _ in 0..25 {
            let socket = TcpStream::connect(server.address()).await.expect("a connection");
            socket.try_write(first).expect("some bytes");
            silent.push(socket);
        }
    }
    is_well(&server).await;
    tokio::time::timeout(Duration::from_secs(20), server.stop())
        .await
        .expect("an end");
}

#[tokio::test]
async fn an_answer_does_not_overtake_its_request() {
    let server = furnished().await;
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
        // By the time another request is through, this one could have been answered.
        is_well(&server).await;
        assert_eq!(server.requests()[0].status, None, "{method} {path}");
        soon(socket.write_all(b"{}")).await.expect("a body");
        let mut answer = String::new();
        soon(socket.read_to_string(&mut answer)).await.expect("an answer");
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{answer}");
    }
}

#[tokio::test]
async fn long_requests_get_their_answer_although_nobody_reads_them() {
    let server = furnished().await;
    let long = "x".repeat(1_000_000);
    server.faults().add(On::write("configmaps"), Fault::unavailable());
    for way in Way::ALL {
        for (method, path, code) in [
            (Method::POST, MAPS, 503),
            (Method::PUT, MAPS, 405),
            (Method::POST, "/api/v1/nothings", 404),
            (Method::POST, "/nowhere", 404),
        ] {
            let mut wire = Wire::connect(&server, way).await;
            let answer = wire.ask(method.clone(), path, long.clone()).await;
            assert_eq!(
                (answer.code, answer.whole),
                (code, true),
                "{way:?} {method} {path}"
            );
        }
    }
}
