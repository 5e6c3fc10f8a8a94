//! Helpers for requests.

use std::time::Duration;

use futures::future::join_all;
use http::{Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;

/// Much longer than any test takes, so that a test that hangs fails instead.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, future).await;
    done.unwrap_or_else(|_| panic!("timeout waiting for {what}"))
}

pub(crate) fn get(path: &str) -> Request<Body> {
    Request::get(path)
        .body(Body::empty())
        .expect("a request of known parts")
}

/// Sends a request and returns the response with its unread body.
pub(crate) async fn answer(client: &Client, path: &str) -> Response<Body> {
    let response = soon(path, client.send(get(path))).await;
    let response = response.unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(response.status(), 200, "{path}");
    response
}

/// Opens `count` watches at the same time.
pub(crate) async fn watches(client: &Client, count: usize) -> Vec<Response<Body>> {
    let watch = "/api/v1/configmaps?watch=true&resourceVersion=0";
    join_all((0..count).map(|_| answer(client, watch))).await
}

/// Reads a whole body.
pub(crate) async fn read(response: Response<Body>) -> Vec<u8> {
    let body = soon("the end of a body", response.into_body().collect()).await;
    body.expect("a whole body").to_bytes().to_vec()
}

/// Reads a body until its connection is lost.
pub(crate) async fn until_broken(response: Response<Body>) {
    let mut body = response.into_body();
    let breaking = async { while let Some(Ok(_)) = body.frame().await {} };
    soon("the end of a connection", breaking).await;
}
