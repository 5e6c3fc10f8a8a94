//! Tests of list pages and watch events in protobuf, and of the negotiation of the format.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta};
use kube_wire::protobuf::{self, Envelope};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::error::{Error, ErrorChain};
use crate::object::Kind;
use crate::pipeline::wire::{
    ApiListWatch, ListPart, ListRequest, ListWatch, WatchEvent, WatchRequest, WireFormat,
};

const PROTOBUF: &str = protobuf::MEDIA_TYPE;
const JSON: &str = "application/json";

/// A response: its code, its type and its body.
type EncodedResponse = (u16, &'static str, Vec<u8>);

/// Returns a server with these responses, each sent once in pieces of `piece` bytes, and its recorded
/// `Accept` headers.
fn server(answers: Vec<EncodedResponse>, piece: usize) -> (Client, Arc<Mutex<Vec<String>>>) {
    let accept_headers = Arc::new(Mutex::new(Vec::new()));
    let (log, answers) = (
        Arc::clone(&accept_headers),
        Arc::new(Mutex::new(answers.into_iter())),
    );
    let service = tower::service_fn(move |request: Request<Body>| {
        let accept = request.headers()["accept"].to_str().expect("text").to_owned();
        log.lock().push(accept);
        let (code, content_type, body) = answers.lock().next().expect("no more is accept_headers");
        let pieces: Vec<_> = body
            .chunks(piece)
            .map(|piece| Ok::<_, std::io::Error>(Frame::data(Bytes::copy_from_slice(piece))))
            .collect();
        let response = Response::builder()
            .status(StatusCode::from_u16(code).expect("a code"))
            .header("content-type", content_type)
            .body(BodyExt::boxed(StreamBody::new(stream::iter(pieces))));
        async move { Ok::<_, Infallible>(response.expect("the parts are valid")) }
    });
    (Client::new(service, "default"), accept_headers)
}

/// Formats a list.
async fn list<K: Kind>(source: &ApiListWatch<K>) -> Result<Vec<String>, Error> {
    let parts: Vec<_> = source.list(ListRequest::default()).await?.collect().await;
    let mut words = Vec::new();
    for part in parts {
        match part? {
            ListPart::Object(item) => {
                let (key, version, _) = item.into_parts()?;
                words.push(format!("{key}@{version}"));
            }
            ListPart::Progress => {}
            ListPart::End {
                version,
                continue_token,
            } => words.push(format!("end at {version}, {continue_token:?}")),
        }
    }
    Ok(words)
}

/// Formats the events of a watch, the last of which may be an error.
async fn watch<K: Kind>(source: &ApiListWatch<K>) -> Result<Vec<String>, Error> {
    let request = WatchRequest {
        resource_version: Some("10".to_owned()),
        timeout: Duration::from_secs(301),
        initial_events: false,
    };
    let events: Vec<_> = source.watch(request).await?.collect().await;
    let words = events.into_iter().map(|event| match event {
        Ok(WatchEvent::Added(item)) => format!("added {}@{}", item.key(), item.version()),
        Ok(WatchEvent::Modified(item)) => format!("modified {}", item.key()),
        Ok(WatchEvent::Deleted(item)) => format!("deleted {}", item.key()),
        Ok(WatchEvent::Bookmark {
            version,
            initial_events_end,
        }) => format!("bookmark {version} {initial_events_end}"),
        Ok(WatchEvent::Failure(status)) => format!("failure {} {}", status.code, status.reason),
        Err(error) if error.is_connection() => format!("connection: {}", ErrorChain(&error)),
        Err(error) => ErrorChain(&error).to_string(),
    });
    Ok(words.collect())
}

fn source<K: Kind<DynamicType = ()>>(client: Client) -> ApiListWatch<K> {
    ApiListWatch::new(client, &(), None)
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
           "metadata": {"name": name, "namespace": "shop", "uid": "7", "resourceVersion": "7"}})
}

fn page() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "10", "continue": "t"},
           "items": [config_map("a"), config_map("b")]})
}

fn encoded(value: &Value) -> Vec<u8> {
    protobuf::encode(value).expect("it has a message")
}

fn frame(event: &str, object: &Value) -> Vec<u8> {
    protobuf::WatchEvent::frame_of(event, object).expect("it has a message")
}

#[tokio::test]
async fn a_list_is_the_same_in_pieces_of_any_size() {
    for piece in 1..40 {
        let (client, accept_headers) = server(vec![(200, PROTOBUF, encoded(&page()))], piece);
        let words = list(&source::<ConfigMap>(client)).await.expect("good");
        assert_eq!(
            words,
            ["shop/a@7", "shop/b@7", "end at 10, Some(\"t\")"],
            "{piece}"
        );
        assert_eq!(*accept_headers.lock(), [format!("{PROTOBUF},{JSON}")]);
    }
}

#[tokio::test]
async fn a_server_may_respond_in_json() {
    let json = page().to_string().into_bytes();
    let (client, _) = server(vec![(200, JSON, json)], 100);
    let words = list(&source::<ConfigMap>(client)).await.expect("good");
    assert_eq!(words, ["shop/a@7", "shop/b@7", "end at 10, Some(\"t\")"]);
}

#[tokio::test]
async fn a_server_that_rejects_protobuf_is_asked_once() {
    let json = page().to_string().into_bytes();
    let refusal = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotAcceptable",
                         "message": "only JSON here", "code": 406});
    let refusal = (406, JSON, refusal.to_string().into_bytes());
    let answers = vec![refusal, (200, JSON, json.clone()), (200, JSON, json)];
    let (client, accept_headers) = server(answers, 1_000);
    let source = source::<ConfigMap>(client);
    // Clones use the same server, so they share what was negotiated.
    let clone = source.clone().wire_format(WireFormat::Protobuf);
    for source in [source, clone] {
        assert_eq!(list(&source).await.expect("good").len(), 3);
    }
    assert_eq!(
        *accept_headers.lock(),
        [&format!("{PROTOBUF},{JSON}"), JSON, JSON]
    );
}

#[tokio::test]
async fn the_wire_format_is_set_per_clone_and_can_be_reset() {
    let json = page().to_string().into_bytes();
    let (client, accept_headers) = server(vec![(200, JSON, json); 4], 1_000);
    let original = source::<ConfigMap>(client);
    let changed = original.clone().wire_format(WireFormat::Json);
    let inherited = changed.clone();
    let changed_back = changed.clone().wire_format(WireFormat::Protobuf);
    for source in [original, changed, inherited, changed_back] {
        list(&source).await.expect("good");
    }
    let both = format!("{PROTOBUF},{JSON}");
    assert_eq!(*accept_headers.lock(), [&both, JSON, JSON, &both]);
}

#[tokio::test]
async fn json_is_requested_if_protobuf_would_lose_fields_or_is_disabled() {
    let json = page().to_string().into_bytes();
    let (client, accept_headers) = server(vec![(200, JSON, json.clone()), (200, JSON, json)], 1_000);
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
    let dynamic = ApiListWatch::<DynamicObject>::new(client.clone(), &resource, None);
    list(&dynamic).await.expect("good");
    let wanted = source::<ConfigMap>(client).wire_format(WireFormat::Json);
    list(&wanted).await.expect("good");
    assert_eq!(*accept_headers.lock(), [JSON, JSON]);
}

#[tokio::test]
async fn metadata_is_requested_in_protobuf_for_every_kind() {
    let list_of = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList",
        "metadata": {"resourceVersion": "10"}, "items": [{"metadata": {"name": "a", "resourceVersion": "7"}}]});
    let (client, accept_headers) = server(vec![(200, PROTOBUF, encoded(&list_of))], 1_000);
    let words = list(&source::<PartialObjectMeta<ConfigMap>>(client)).await;
    assert_eq!(words.expect("good"), ["a@7", "end at 10, None"]);
    let form = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    assert_eq!(*accept_headers.lock(), [format!("{PROTOBUF}{form},{JSON}{form}")]);
}

#[tokio::test]
async fn a_page_of_another_kind_or_a_truncated_page_is_rejected() {
    let other =
        json!({"apiVersion": "v1", "kind": "SecretList", "metadata": {"resourceVersion": "10"}, "items": []});
    let no_version = json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {}, "items": []});
    let mut nameless = page();
    nameless["items"][1]["metadata"]["name"] = "".into();
    let rows = [
        (
            encoded(&other),
            "unexpected v1 SecretList: expected v1 ConfigMapList",
        ),
        (
            encoded(&no_version),
            "invalid list: `metadata.resourceVersion` is missing",
        ),
        (encoded(&nameless), "invalid object: `metadata.name` is missing"),
        (b"k8s\0".to_vec(), "list"),
        (b"<html>".to_vec(), "invalid protobuf list"),
        (Vec::new(), "list"),
    ];
    for (body, expected) in rows {
        let (client, _) = server(vec![(200, PROTOBUF, body)], 7);
        let error = list(&source::<ConfigMap>(client)).await.expect_err(expected);
        assert!(error.is_bad_data(), "{error}");
        let text = ErrorChain(&error).to_string();
        assert!(text.contains(expected), "{text}");
    }
    let whole = encoded(&page());
    // Two empty fields after the list are ignored.
    for end in 0..whole.len() - 4 {
        let (client, _) = server(vec![(200, PROTOBUF, whole[..end].to_vec())], 50);
        assert!(list(&source::<ConfigMap>(client)).await.is_err(), "{end}");
    }
}

#[tokio::test]
async fn events_are_the_same_in_pieces_of_any_size() {
    let bookmark = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"resourceVersion": "12", "annotations": {"k8s.io/initial-events-end": "true"}}});
    let failure = json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Expired",
        "message": "too old", "code": 410});
    let body = [
        frame("ADDED", &config_map("a")),
        frame("MODIFIED", &config_map("a")),
        frame("BOOKMARK", &bookmark),
        frame("DELETED", &config_map("a")),
        frame("ERROR", &failure),
    ]
    .concat();
    for piece in [1, 2, 3, 5, 8, 13, 100, 10_000] {
        let watched = format!("{PROTOBUF};stream=watch");
        let (client, _) = server(
            vec![(200, Box::leak(watched.into_boxed_str()), body.clone())],
            piece,
        );
        assert_eq!(
            watch(&source::<ConfigMap>(client)).await.expect("good"),
            [
                "added shop/a@7",
                "modified shop/a",
                "bookmark 12 true",
                "deleted shop/a",
                "failure 410 Expired",
            ],
            "{piece}"
        );
    }
}

#[tokio::test]
async fn a_truncated_event_is_a_lost_connection() {
    let first = frame("ADDED", &config_map("a"));
    let body = [first.clone(), frame("ADDED", &config_map("b"))].concat();
    for end in 0..body.len() {
        let (client, _) = server(vec![(200, PROTOBUF, body[..end].to_vec())], 60);
        let words = watch(&source::<ConfigMap>(client)).await.expect("an answer");
        let whole = usize::from(end >= first.len());
        let broken = usize::from(end != 0 && end != first.len());
        assert_eq!(words.len(), whole + broken, "{end}: {words:?}");
        if broken == 1 {
            assert!(words[whole].starts_with("connection: "), "{end}: {words:?}");
        }
    }
}

#[tokio::test]
async fn errors_of_invalid_events_contain_the_reason() {
    let wrapped = |event_type, object: &[u8]| protobuf::WatchEvent { event_type, object }.to_frame();
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "resourceVersion": "1"}});
    let rows = [
        (
            frame("ADDED", &secret),
            "unexpected v1 Secret: expected v1 ConfigMap",
        ),
        (
            frame("RENAMED", &config_map("a")),
            "unknown watch event type \"RENAMED\"",
        ),
        (frame("ERROR", &config_map("a")), "expected v1 Status"),
        (wrapped("ADDED", b"rubbish"), "invalid protobuf watch event"),
        (
            wrapped("ADDED", &Envelope::new("v1", "ConfigMap", b"").to_bytes()),
            "`metadata.name` is missing",
        ),
        (
            wrapped("BOOKMARK", &Envelope::new("v1", "ConfigMap", b"").to_bytes()),
            "invalid bookmark",
        ),
        (b"\xff\xff\xff\xff".to_vec(), "64 MiB"),
    ];
    for (body, expected) in rows {
        let (client, _) = server(vec![(200, PROTOBUF, body)], 1_000);
        let words = watch(&source::<ConfigMap>(client)).await.expect("an answer");
        assert!(
            words.len() == 1 && words[0].contains(expected),
            "{expected}: {words:?}"
        );
        assert!(!words[0].starts_with("connection"), "{words:?}");
    }
}

#[tokio::test]
async fn a_failure_may_be_in_protobuf() {
    let failure = json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "TooManyRequests",
        "message": "later", "code": 429, "details": {"retryAfterSeconds": 5}});
    let (client, _) = server(vec![(429, PROTOBUF, encoded(&failure))], 1_000);
    let error = list(&source::<ConfigMap>(client)).await.expect_err("429");
    let status = error.server_status().expect("the server's words");
    assert_eq!(
        (status.code, &*status.reason, &*status.message),
        (429, "TooManyRequests", "later")
    );
    assert_eq!(status.retry_after, Some(Duration::from_secs(5)));
}
