//! Requests in plain text, with a line `---` between them:
//!
//! ```text
//! PATCH /api/v1/namespaces/default/configmaps/a
//! content-type: application/merge-patch+json
//!
//! {"data":{"a":null}}
//! ```

use http::{Method, Request};
use kube::client::Body;

use super::world::{self, Response, World};

/// Maximum number of requests of an input.
const MOST: usize = 6;

const BETWEEN: &[u8] = b"\n---\n";

/// The server responds to every request as the API specifies, and continues to serve.
pub(crate) fn request(data: &[u8]) {
    let requests: Vec<Request<Body>> = split(data).into_iter().take(MOST).filter_map(parsed).collect();
    if requests.is_empty() {
        return;
    }
    world::with(async |world| {
        for request in requests {
            send(world, request).await;
        }
        world.assert_consistent().await;
    });
}

/// Sends an arbitrary request.
pub(super) async fn send(world: &World, request: Request<Body>) -> Response {
    let before = world.server.resource_version();
    let is_read = request.method() == Method::GET || request.method() == Method::HEAD;
    let words = format!("{} {}", request.method(), request.uri());
    let answer = world.ask(request).await;
    answer.assert_client_error();
    if is_read || answer.code >= 400 {
        assert_eq!(
            world.server.resource_version(),
            before,
            "{words} changed something: {answer:?}"
        );
    }
    world.settle().await;
    answer
}

fn split(data: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = data;
    while let Some(at) = rest.windows(BETWEEN.len()).position(|part| part == BETWEEN) {
        parts.push(&rest[..at]);
        rest = &rest[at + BETWEEN.len()..];
    }
    parts.push(rest);
    parts
}

/// Parses a request, if it is valid HTTP.
fn parsed(text: &[u8]) -> Option<Request<Body>> {
    let end = text.windows(2).position(|two| two == b"\n\n");
    let (head, body) = end.map_or((text, &b""[..]), |end| (&text[..end], &text[end + 2..]));
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = lines.next()?;
    let space = first.iter().position(|byte| *byte == b' ')?;
    let mut request = Request::builder()
        .method(&first[..space])
        .uri(&first[space + 1..]);
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':')?;
        request = request.header(&line[..colon], line[colon + 1..].trim_ascii());
    }
    request.body(Body::from(body.to_vec())).ok()
}
