//! Tests of requests and responses, with a service as the server.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::channel::mpsc;
use futures::{SinkExt, StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Client;
use kube::client::Body;
use kube::core::PartialObjectMeta;
use parking_lot::Mutex;
use serde_json::json;

use crate::error::{Error, ErrorChain};
use crate::object::Kind;
use crate::pipeline::wire::{
    ApiListWatch, ListPart, ListRequest, ListWatch, WatchEvent, WatchRequest, check_parameter,
};

type AnyBody = BoxBody<Bytes, std::io::Error>;

/// A server that responds once and records the request.
struct Server {
    client: Client,
    requests: Arc<Mutex<Vec<Request<Body>>>>,
}

fn server(answer: Response<AnyBody>) -> Server {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let (log, answer) = (Arc::clone(&requests), Arc::new(Mutex::new(Some(answer))));
    let service = tower::service_fn(move |request| {
        log.lock().push(request);
        let answer = answer.lock().take().expect("a test asks once");
        async move { Ok::<_, Infallible>(answer) }
    });
    Server {
        client: Client::new(service, "default"),
        requests,
    }
}

fn answer(code: u16, content_type: &str, body: impl Into<Bytes>) -> Response<AnyBody> {
    Response::builder()
        .status(code)
        .header("content-type", content_type)
        .body(
            Full::new(body.into())
                .map_err(|never: Infallible| match never {})
                .boxed(),
        )
        .expect("the parts are valid")
}

fn json_answer(body: &serde_json::Value) -> Response<AnyBody> {
    answer(200, "application/json", body.to_string())
}

/// Returns a body in pieces, each of which may be an error.
fn in_pieces(pieces: Vec<Result<&'static str, std::io::ErrorKind>>) -> Response<AnyBody> {
    let frames = pieces
        .into_iter()
        .map(|piece| piece.map(|text| Frame::data(Bytes::from_static(text.as_bytes()))))
        .map(|piece| piece.map_err(std::io::Error::from));
    Response::builder()
        .header("content-type", "application/json")
        .body(BodyExt::boxed(StreamBody::new(stream::iter(frames))))
        .expect("the parts are valid")
}

fn source<K: Kind<DynamicType = ()>>(server: &Server, namespace: Option<&str>) -> ApiListWatch<K> {
    ApiListWatch::new(server.client.clone(), &(), namespace)
}

async fn list(answer: Response<AnyBody>) -> Result<Vec<String>, Error> {
    let source = source::<Pod>(&server(answer), None);
    let parts: Vec<_> = source.list(ListRequest::default()).await?.collect().await;
    let mut words = Vec::new();
    for part in parts {
        match part? {
            ListPart::Object(item) => words.push(item.key().to_string()),
            ListPart::Progress => {}
            ListPart::End { version, .. } => words.push(format!("end at {version}")),
        }
    }
    Ok(words)
}

fn watch_request() -> WatchRequest {
    WatchRequest {
        resource_version: Some("10".to_owned()),
        timeout: Duration::from_secs(301),
        initial_events: false,
    }
}

/// Formats the events of a watch, the last of which may be an error.
async fn watch(answer: Response<AnyBody>) -> Result<Vec<String>, Error> {
    let source = source::<ConfigMap>(&server(answer), None);
    let events: Vec<_> = source.watch(watch_request()).await?.collect().await;
    let words = events.into_iter().map(|event| match event {
        Ok(WatchEvent::Added(item)) => format!("added {}", item.key()),
        Ok(WatchEvent::Bookmark { version, .. }) => format!("bookmark {version}"),
        Ok(other) => format!("{other:?}"),
        Err(error) if error.is_connection() => format!("connection: {}", ErrorChain(&error)),
        Err(error) => ErrorChain(&error).to_string(),
    });
    Ok(words.collect())
}

const ADDED: &str = r#"{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"11"}}}"#;
const BOOKMARK: &str = r#"{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"12"}}}"#;

#[tokio::test]
async fn a_list_request_contains_all_parameters() {
    let server = server(json_answer(
        &json!({"metadata": {"resourceVersion": "1"}, "items": []}),
    ));
    let source = source::<Pod>(&server, Some("shop"))
        .labels("app in (a, b)")
        .fields("spec.nodeName=n&1");
    let request = ListRequest {
        resource_version: Some("0".to_owned()),
        limit: Some(500),
        continue_token: Some("a=b/c+d".to_owned()),
    };
    drop(source.list(request).await.expect("the answer is good"));
    let request = server.requests.lock().pop().expect("a request was sent");
    assert_eq!(request.method(), "GET");
    assert_eq!(
        request.uri(),
        "/api/v1/namespaces/shop/pods?labelSelector=app+in+%28a%2C+b%29&fieldSelector=spec.nodeName%3Dn%261\
         &limit=500&continue=a%3Db%2Fc%2Bd&resourceVersion=0"
    );
    assert_eq!(
        request.headers()["accept"],
        "application/vnd.kubernetes.protobuf,application/json"
    );
    assert_eq!(request.headers()["accept-encoding"], "identity");
}

#[tokio::test]
async fn other_parameters_are_sent_once_with_the_last_value() {
    let server = server(answer(200, "application/json", ""));
    let source = source::<Pod>(&server, None)
        .labels("app=a")
        .parameters([("pretty", "true"), ("labelSelector", "app=b")])
        .and_then(|source| source.parameters([("pretty", "false")]))
        .expect("parameters that are not the informer's");
    drop(source.watch(watch_request()).await.expect("the answer is good"));
    let request = server.requests.lock().pop().expect("a request was sent");
    let query = request.uri().query().unwrap_or_default();
    assert!(
        query.starts_with("labelSelector=app%3Db&pretty=false&watch=true&"),
        "{query}"
    );
}

/// The parameters may differ from request to request.
#[tokio::test]
async fn a_function_changes_the_parameters_of_each_request() {
    let requests = |number: u32| async move {
        let server = server(json_answer(
            &json!({"metadata": {"resourceVersion": "1"}, "items": []}),
        ));
        let source = source::<Pod>(&server, None)
            .labels("app=a")
            .tweak_requests(move |parameters| {
                assert_eq!(parameters.get("labelSelector"), Some("app=a"));
                parameters
                    .remove("labelSelector")
                    .fields(format!("metadata.name=pod-{number}"));
            });
        drop(source.list(ListRequest::default()).await.expect("an answer"));
        let request = server.requests.lock().pop().expect("a request");
        request.uri().query().unwrap_or_default().to_owned()
    };
    assert_eq!(requests(1).await, "fieldSelector=metadata.name%3Dpod-1");
    assert_eq!(requests(2).await, "fieldSelector=metadata.name%3Dpod-2");
}

#[tokio::test]
async fn a_function_cannot_set_parameters_of_informers() {
    let server = server(json_answer(&json!({})));
    let source = source::<Pod>(&server, None).tweak_requests(|parameters| {
        parameters.set("resourceVersion", "1");
    });
    let error = source
        .list(ListRequest::default())
        .await
        .err()
        .expect("a refusal");
    assert!(error.is_reserved_parameter(), "{error}");
    assert!(server.requests.lock().is_empty(), "nothing is requested");
}

#[test]
fn a_parameter_that_informers_set_themselves_is_rejected() {
    for (name, setting) in [
        ("limit", Some("page_size()")),
        ("timeoutSeconds", Some("watch_timeout()")),
        ("sendInitialEvents", Some("streaming_list()")),
        ("resourceVersion", None),
        ("resourceVersionMatch", None),
        ("continue", None),
        ("watch", None),
        ("allowWatchBookmarks", None),
    ] {
        let error = check_parameter(name).expect_err("a refusal");
        assert!(error.is_reserved_parameter());
        let hint = setting.map_or_else(String::new, |setting| {
            format!("\nhint: use {setting} of the builder")
        });
        let text = format!("invalid parameter {name:?}: it is set by the informer{hint}");
        assert_eq!(error.to_string(), text);
    }
}

#[tokio::test]
async fn a_list_of_the_most_recent_version_has_no_version_and_limit_parameters() {
    let server = server(json_answer(
        &json!({"metadata": {"resourceVersion": "1"}, "items": []}),
    ));
    let source = source::<Pod>(&server, None);
    let answer = source.list(ListRequest::default()).await;
    assert!(answer.is_ok());
    let request = server.requests.lock().pop().expect("a request was sent");
    assert_eq!(request.uri().query().unwrap_or_default(), "");
    assert_eq!(request.uri().path(), "/api/v1/pods");
}

/// For pages, too: by default, servers return exactly the requested version.
#[tokio::test]
async fn a_list_at_a_version_accepts_newer_versions() {
    let server = server(json_answer(
        &json!({"metadata": {"resourceVersion": "12"}, "items": []}),
    ));
    let source = source::<Pod>(&server, None);
    let request = ListRequest {
        resource_version: Some("10".into()),
        limit: Some(5),
        continue_token: None,
    };
    drop(source.list(request).await.expect("the answer is good"));
    let request = server.requests.lock().pop().expect("a request was sent");
    assert_eq!(
        request.uri(),
        "/api/v1/pods?limit=5&resourceVersion=10&resourceVersionMatch=NotOlderThan"
    );
}

#[tokio::test]
async fn a_watch_request_always_asks_for_bookmarks() {
    let server = server(answer(200, "application/json", ""));
    let source = source::<Pod>(&server, None);
    drop(source.watch(watch_request()).await.expect("the answer is good"));
    let request = server.requests.lock().pop().expect("a request was sent");
    assert_eq!(
        request.uri(),
        "/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=301&resourceVersion=10"
    );
}

#[tokio::test]
async fn a_streaming_list_requests_initial_events_not_older_than_its_version() {
    let server = server(answer(200, "application/json", ""));
    let source = source::<Pod>(&server, None);
    let request = WatchRequest {
        resource_version: None,
        initial_events: true,
        ..watch_request()
    };
    drop(source.watch(request).await.expect("the answer is good"));
    let request = server.requests.lock().pop().expect("a request was sent");
    assert_eq!(
        request.uri(),
        "/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=301&sendInitialEvents=true\
         &resourceVersionMatch=NotOlderThan"
    );
}

#[tokio::test]
async fn metadata_is_requested_as_partial_object_metadata() {
    let server = server(answer(200, "application/json", ""));
    let source = source::<PartialObjectMeta<Pod>>(&server, None);
    drop(source.watch(watch_request()).await.expect("the answer is good"));
    let request = server.requests.lock().pop().expect("a request was sent");
    assert_eq!(
        request.headers()["accept"],
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
         application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    );
}

#[tokio::test]
async fn a_list_arrives_in_pieces() {
    let answer = in_pieces(vec![
        Ok(r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resource"#),
        Ok(r#"Version":"10"},"items":[{"metadata":{"name":"a","resourceV"#),
        Ok(r#"ersion":"7"}}]}"#),
    ]);
    assert_eq!(list(answer).await.expect("good"), ["a", "end at 10"]);
}

#[tokio::test]
async fn every_piece_of_a_list_is_reported_as_it_arrives() {
    let (mut send, pieces) = mpsc::channel::<Result<Frame<Bytes>, std::io::Error>>(1);
    let answer = Response::new(BodyExt::boxed(StreamBody::new(pieces)));
    let source = source::<Pod>(&server(answer), None);
    let mut parts = source.list(ListRequest::default()).await.expect("it is answered");
    for piece in [r#"{"metadata":{"resourceVersion":"1"}"#, r#","items":"#, "[]}"] {
        send.send(Ok(Frame::data(piece.into())))
            .await
            .expect("it is read");
        assert!(matches!(parts.next().await, Some(Ok(ListPart::Progress))));
    }
    drop(send);
    assert!(matches!(parts.next().await, Some(Ok(ListPart::End { .. }))));
    assert!(parts.next().await.is_none());
}

#[tokio::test]
async fn an_interrupted_list_is_an_error() {
    let broken = in_pieces(vec![
        Ok(r#"{"kind":"PodList""#),
        Err(std::io::ErrorKind::ConnectionReset),
    ]);
    let error = list(broken).await.expect_err("it broke");
    assert!(error.is_connection(), "{error:?}");
    assert!(
        error.to_string().contains("connection lost while reading a list"),
        "{error:?}"
    );
    let short = in_pieces(vec![Ok(r#"{"kind":"PodList","apiVersion":"v1","#)]);
    let error = list(short).await.expect_err("it is half");
    assert!(error.is_bad_data(), "{error:?}");
}

#[tokio::test]
async fn a_response_in_another_format_is_rejected() {
    let page = "<html>Please sign in</html>";
    let error = list(answer(200, "text/html; charset=utf-8", page))
        .await
        .expect_err("html");
    assert!(error.is_bad_data());
    assert!(
        error.to_string().contains("\"text/html; charset=utf-8\""),
        "{error}"
    );
    let error = watch(answer(200, "text/html", page)).await.expect_err("html");
    assert!(error.is_bad_data());
    let error = list(answer(200, "application/json", page))
        .await
        .expect_err("html that claims to be json");
    assert!(error.to_string().contains("invalid JSON list"), "{error}");
}

#[tokio::test]
async fn events_are_lines_and_the_last_may_lack_its_line_break() {
    let body = format!("{ADDED}\n\n{BOOKMARK}");
    let words = watch(answer(200, "application/json;stream=watch", body))
        .await
        .expect("good");
    assert_eq!(words, ["added a", "bookmark 12"]);
}

#[tokio::test]
async fn a_truncated_event_is_a_lost_connection() {
    for end in 1..BOOKMARK.len() {
        let body = format!("{ADDED}\n{}", &BOOKMARK[..end]);
        let words = watch(answer(200, "application/json", body))
            .await
            .expect("it is answered");
        assert_eq!(words[0], "added a");
        assert!(
            words[1].starts_with("connection: connection lost while reading a watch event"),
            "cut at {end}: {words:?}"
        );
        assert_eq!(words.len(), 2);
    }
}

#[tokio::test]
async fn a_watch_ends_with_its_first_error() {
    let broken = in_pieces(vec![
        Ok("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"12\"}}}\n{\"ty"),
        Err(std::io::ErrorKind::ConnectionReset),
        Ok("never read\n"),
    ]);
    let words = watch(broken).await.expect("it is answered");
    assert_eq!(words.len(), 2);
    assert!(
        words[1].starts_with("connection: connection lost while reading a watch:"),
        "{words:?}"
    );
    let rubbish = watch(answer(200, "application/json", format!("rubbish\n{ADDED}\n")))
        .await
        .expect("it is answered");
    assert_eq!(rubbish.len(), 1, "{rubbish:?}");
    assert!(
        rubbish[0].contains("invalid JSON watch event (7 bytes)"),
        "{rubbish:?}"
    );
}

#[tokio::test]
async fn a_failure_contains_the_status_of_the_server() {
    let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "Too large resource version: 20, current: 10", "reason": "Timeout", "code": 504,
        "details": {"causes": [{"reason": "ResourceVersionTooLarge", "message": "x"}], "retryAfterSeconds": 3}});
    let error = list(answer(504, "application/json", body.to_string()))
        .await
        .expect_err("504");
    let status = error.server_status().expect("the server answered");
    assert_eq!((status.code, status.reason.as_str()), (504, "Timeout"));
    assert_eq!(status.causes, ["ResourceVersionTooLarge"]);
    assert_eq!(status.retry_after, Some(Duration::from_secs(3)));
    assert!(status.is_too_large_version());
}

#[tokio::test]
async fn retry_after_is_taken_from_the_header_if_the_body_has_none() {
    let rows = [
        ("7", Some(7)),
        ("0", Some(0)),
        ("soon", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("-3", None),
        ("99999999999999999999999", None),
    ];
    for (header, expected) in rows {
        let mut busy = answer(429, "text/plain", "slow down");
        busy.headers_mut()
            .insert("retry-after", header.parse().expect("it is a header value"));
        let error = watch(busy).await.expect_err("429");
        assert!(error.is_too_many_requests());
        let status = error.server_status().expect("the server answered");
        assert_eq!(status.retry_after, expected.map(Duration::from_secs), "{header}");
    }
}

#[tokio::test]
async fn the_failure_of_a_proxy_contains_its_message_and_code() {
    let long = "x".repeat(5_000);
    let rows = [
        ("upstream connect error\nmore", "upstream connect error"),
        ("", ""),
        ("{\"error\":\"no backend\"}", "{\"error\":\"no backend\"}"),
        (
            "{\"kind\":\"Status\",\"message\":\"half",
            "{\"kind\":\"Status\",\"message\":\"half",
        ),
        (long.as_str(), &long[..200]),
    ];
    for (body, expected) in rows {
        let error = list(answer(503, "text/plain", body.to_owned()))
            .await
            .expect_err("503");
        let status = error.server_status().expect("the server answered");
        assert_eq!((status.code, status.message.as_str()), (503, expected));
    }
}

#[tokio::test]
async fn an_endless_failure_body_is_read_up_to_a_limit() {
    let megabyte = Bytes::from(vec![b'x'; 1 << 20]);
    let read = Arc::new(Mutex::new(0));
    let count = Arc::clone(&read);
    let long = stream::iter(0..100).map(move |piece| {
        *count.lock() = piece;
        Ok(Frame::data(megabyte.clone()))
    });
    let mut response = Response::new(BodyExt::boxed(StreamBody::new(long)));
    *response.status_mut() = http::StatusCode::BAD_GATEWAY;
    let error = list(response).await.expect_err("502");
    assert_eq!(error.server_status().map(|status| status.code), Some(502));
    assert!(*read.lock() < 3, "{} megabytes were read", *read.lock());
}
