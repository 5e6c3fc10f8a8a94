//! Tests of real connections without a server, or with one that closes them.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Client, Config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::error::{Error, Problem};
use crate::pipeline::wire::{ApiListWatch, ListRequest, ListWatch, WatchRequest};

async fn listener() -> (TcpListener, ApiListWatch<ConfigMap>) {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("there is a free port");
    let address = listener.local_addr().expect("it is bound");
    let uri = format!("http://{address}").parse().expect("it is a URI");
    let client = Client::try_from(Config::new(uri)).expect("plain HTTP needs nothing");
    (listener, ApiListWatch::new(client, &(), None))
}

fn watch() -> WatchRequest {
    WatchRequest {
        resource_version: None,
        timeout: Duration::from_mins(5),
        initial_events: false,
    }
}

/// Accepts one connection, reads the request, writes this response and closes.
async fn answer_once(listener: TcpListener, answer: &'static str) {
    let (mut socket, _) = listener.accept().await.expect("someone connects");
    let mut request = [0; 4096];
    let read = socket.read(&mut request).await.expect("a request arrives");
    assert!(read > 0);
    socket.write_all(answer.as_bytes()).await.expect("it is read");
    socket.shutdown().await.expect("it closes");
}

fn problem<T>(result: Result<T, Error>) -> Error {
    match result {
        Ok(_) => panic!("there is no server to respond"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_closed_port_is_a_refused_connection() {
    let (listener, source) = listener().await;
    drop(listener);
    let error = problem(source.list(ListRequest::default()).await);
    assert!(matches!(error.problem(), Problem::Connect), "{error:?}");
    let error = problem(source.watch(watch()).await);
    assert!(matches!(error.problem(), Problem::Connect), "{error:?}");
}

#[tokio::test]
async fn a_connection_closed_before_the_response_is_not_a_connect_error() {
    let (listener, source) = listener().await;
    let server = tokio::spawn(answer_once(listener, ""));
    let error = problem(source.list(ListRequest::default()).await);
    assert!(matches!(error.problem(), Problem::Transport(_)), "{error:?}");
    server.await.expect("the server did its part");
}

#[tokio::test]
async fn a_connection_closed_in_a_watch_is_an_unexpected_end() {
    let (listener, source) = listener().await;
    let answer =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"typ";
    let server = tokio::spawn(answer_once(listener, answer));
    let mut events = source.watch(watch()).await.expect("the headers arrive");
    let error = problem(events.next().await.expect("the end is reported"));
    assert!(matches!(error.problem(), Problem::Transport(_)), "{error:?}");
    assert!(events.next().await.is_none());
    server.await.expect("the server did its part");
}

#[tokio::test]
async fn a_watch_that_ends_without_an_error_ends_the_stream() {
    let (listener, source) = listener().await;
    let answer =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    let server = tokio::spawn(answer_once(listener, answer));
    let events = source.watch(watch()).await.expect("the headers arrive");
    assert_eq!(events.count().await, 0);
    server.await.expect("the server did its part");
}
