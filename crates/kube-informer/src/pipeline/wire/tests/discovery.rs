//! Tests of parsing discovery documents.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::client::Body;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta};
use parking_lot::Mutex;

use crate::error::Error;
use crate::pipeline::wire::{ApiListWatch, ListWatch};

type DiscoveryResponse = (u16, &'static str, &'static str);

/// Returns a server that serves these paths, responds to others with 404, and records the requests.
fn server(answers: Vec<(&'static str, DiscoveryResponse)>) -> (Client, Arc<Mutex<Vec<String>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&requests);
    let service = tower::service_fn(move |request: Request<Body>| {
        let path = request.uri().to_string();
        let found = answers.iter().find(|(at, _)| *at == path);
        let (code, content_type, body) = found.map_or(PAGE_NOT_FOUND, |(_, answer)| *answer);
        log.lock().push(path);
        let response = Response::builder()
            .status(code)
            .header("content-type", content_type)
            .body(Body::from(body.as_bytes().to_vec()))
            .expect("the parts are valid");
        async move { Ok::<_, Infallible>(response) }
    });
    (Client::new(service, "default"), requests)
}

const JSON: &str = "application/json";
/// The response of a kube-apiserver for a path that it does not serve.
const PAGE_NOT_FOUND: DiscoveryResponse = (404, "text/plain; charset=utf-8", "404 page not found\n");
const KINDS: DiscoveryResponse = (
    200,
    JSON,
    r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[
        {"name":"widgets","kind":"Widget"},{"name":"widgets/status","kind":"Widget"}]}"#,
);
const OTHER_KINDS: DiscoveryResponse = (
    200,
    JSON,
    r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[{"name":"gadgets"},
        {"name":"widgets/status"}]}"#,
);
const GROUPS_WITH_IT: DiscoveryResponse = (
    200,
    JSON,
    r#"{"kind":"APIGroupList","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}]},
        {"name":"example.com","versions":[{"groupVersion":"example.com/v2","version":"v2"},
        {"groupVersion":"example.com/v1","version":"v1"}]}]}"#,
);
const GROUPS_WITHOUT_IT: DiscoveryResponse = (
    200,
    JSON,
    r#"{"kind":"APIGroupList","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}]},
        {"name":"example.com","versions":[{"groupVersion":"example.com/v2","version":"v2"}]}]}"#,
);

async fn is_served(answers: Vec<(&'static str, DiscoveryResponse)>) -> (Result<bool, Error>, Vec<String>) {
    let (client, requests) = server(answers);
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"));
    let source = ApiListWatch::<DynamicObject>::new(client, &kind, Some("shop")).labels("not=for-discovery");
    let served = source.is_served().await;
    let requests = requests.lock().clone();
    (served, requests)
}

#[tokio::test]
async fn the_document_of_the_group_and_version_determines_whether_the_kind_is_served() {
    for (document, expected) in [(KINDS, true), (OTHER_KINDS, false)] {
        let (served, requests) = is_served(vec![("/apis/example.com/v1", document)]).await;
        assert_eq!(served.expect("a valid document"), expected);
        assert_eq!(requests, ["/apis/example.com/v1"]);
    }
}

#[tokio::test]
async fn a_removed_group_or_version_is_missing_in_the_list_of_groups() {
    let (served, requests) = is_served(vec![("/apis", GROUPS_WITHOUT_IT)]).await;
    assert!(!served.expect("a valid document"));
    assert_eq!(requests, ["/apis/example.com/v1", "/apis"]);
}

#[tokio::test]
async fn ambiguous_discovery_documents_are_errors() {
    let html: DiscoveryResponse = (200, "text/html", "<html>welcome</html>");
    let page: DiscoveryResponse = (200, JSON, "{}");
    let status: DiscoveryResponse = (
        200,
        JSON,
        r#"{"kind":"Status","groups":[],"resources":[],"groupVersion":"example.com/v1"}"#,
    );
    let no_groups: DiscoveryResponse = (200, JSON, r#"{"kind":"APIGroupList","groups":[]}"#);
    let other_version: DiscoveryResponse = (
        200,
        JSON,
        r#"{"kind":"APIResourceList","groupVersion":"example.com/v2","resources":[]}"#,
    );
    let nothing: DiscoveryResponse = (
        200,
        JSON,
        r#"{"kind":"APIResourceList","groupVersion":"example.com/v1"}"#,
    );
    let forbidden: DiscoveryResponse = (403, JSON, r#"{"kind":"Status","reason":"Forbidden","code":403}"#);
    let unavailable: DiscoveryResponse = (503, "text/plain", "try later");
    let odd: DiscoveryResponse = (206, JSON, OTHER_KINDS.2);
    for answer in [
        html,
        page,
        status,
        other_version,
        nothing,
        forbidden,
        unavailable,
        odd,
    ] {
        let (served, _) = is_served(vec![
            ("/apis/example.com/v1", answer),
            ("/apis", GROUPS_WITHOUT_IT),
        ])
        .await;
        assert!(served.is_err(), "{answer:?} as the group's document");
    }
    for answer in [
        html,
        page,
        status,
        no_groups,
        forbidden,
        unavailable,
        PAGE_NOT_FOUND,
        GROUPS_WITH_IT,
    ] {
        let (served, _) = is_served(vec![("/apis", answer)]).await;
        assert!(served.is_err(), "{answer:?} as the document of all groups");
    }
}

#[tokio::test]
async fn the_core_group_has_one_document() {
    let pods: DiscoveryResponse = (
        200,
        JSON,
        r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods"}]}"#,
    );
    let (client, requests) = server(vec![("/api/v1", pods), ("/apis", GROUPS_WITHOUT_IT)]);
    let source = ApiListWatch::<PartialObjectMeta<Pod>>::new(client, &(), None);
    assert!(source.is_served().await.expect("a valid document"));
    assert_eq!(*requests.lock(), ["/api/v1"]);

    let (client, requests) = server(vec![("/apis", GROUPS_WITHOUT_IT)]);
    let source = ApiListWatch::<Pod>::new(client, &(), None);
    assert!(source.is_served().await.is_err_and(|error| error.is_not_found()));
    assert_eq!(
        *requests.lock(),
        ["/api/v1"],
        "no group of that name is in the list of groups"
    );
}
