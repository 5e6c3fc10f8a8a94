//! What is made of discovery documents.

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

type Answer = (u16, &'static str, &'static str);

/// A server that answers paths with these, all others with 404, and remembers what it was asked.
fn server(answers: Vec<(&'static str, Answer)>) -> (Client, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
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
    (Client::new(service, "default"), asked)
}

const JSON: &str = "application/json";
/// What a kube-apiserver answers at a path that it does not have.
const PAGE_NOT_FOUND: Answer = (404, "text/plain; charset=utf-8", "404 page not found\n");
const KINDS: Answer = (
    200,
    JSON,
    r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[
        {"name":"widgets","kind":"Widget"},{"name":"widgets/status","kind":"Widget"}]}"#,
);
const OTHER_KINDS: Answer = (
    200,
    JSON,
    r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[{"name":"gadgets"},
        {"name":"widgets/status"}]}"#,
);
const GROUPS_WITH_IT: Answer = (
    200,
    JSON,
    r#"{"kind":"APIGroupList","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}]},
        {"name":"example.com","versions":[{"groupVersion":"example.com/v2","version":"v2"},
        {"groupVersion":"example.com/v1","version":"v1"}]}]}"#,
);
const GROUPS_WITHOUT_IT: Answer = (
    200,
    JSON,
    r#"{"kind":"APIGroupList","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}]},
        {"name":"example.com","versions":[{"groupVersion":"example.com/v2","version":"v2"}]}]}"#,
);

async fn is_served(answers: Vec<(&'static str, Answer)>) -> (Result<bool, Error>, Vec<String>) {
    let (client, asked) = server(answers);
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"));
    let source = ApiListWatch::<DynamicObject>::new(client, &kind, Some("shop")).labels("not=for-discovery");
    let served = source.is_served().await;
    let asked = asked.lock().clone();
    (served, asked)
}

#[tokio::test]
async fn the_document_of_the_group_and_version_names_the_kind_or_does_not() {
    for (document, expected) in [(KINDS, true), (OTHER_KINDS, false)] {
        let (served, asked) = is_served(vec![("/apis/example.com/v1", document)]).await;
        assert_eq!(served.expect("a document that says"), expected);
        assert_eq!(asked, ["/apis/example.com/v1"]);
    }
}

#[tokio::test]
async fn a_group_or_version_that_is_gone_is_missing_among_all() {
    let (served, asked) = is_served(vec![("/apis", GROUPS_WITHOUT_IT)]).await;
    assert!(!served.expect("a document that says"));
    assert_eq!(asked, ["/apis/example.com/v1", "/apis"]);
}

#[tokio::test]
async fn what_is_not_beyond_doubt_is_no_answer() {
    let html: Answer = (200, "text/html", "<html>welcome</html>");
    let page: Answer = (200, JSON, "{}");
    let status: Answer = (
        200,
        JSON,
        r#"{"kind":"Status","groups":[],"resources":[],"groupVersion":"example.com/v1"}"#,
    );
    let no_groups: Answer = (200, JSON, r#"{"kind":"APIGroupList","groups":[]}"#);
    let other_version: Answer = (
        200,
        JSON,
        r#"{"kind":"APIResourceList","groupVersion":"example.com/v2","resources":[]}"#,
    );
    let nothing: Answer = (
        200,
        JSON,
        r#"{"kind":"APIResourceList","groupVersion":"example.com/v1"}"#,
    );
    let forbidden: Answer = (403, JSON, r#"{"kind":"Status","reason":"Forbidden","code":403}"#);
    let unavailable: Answer = (503, "text/plain", "try later");
    let odd: Answer = (206, JSON, OTHER_KINDS.2);
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
    let pods: Answer = (
        200,
        JSON,
        r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods"}]}"#,
    );
    let (client, asked) = server(vec![("/api/v1", pods), ("/apis", GROUPS_WITHOUT_IT)]);
    let source = ApiListWatch::<PartialObjectMeta<Pod>>::new(client, &(), None);
    assert!(source.is_served().await.expect("a document that says"));
    assert_eq!(*asked.lock(), ["/api/v1"]);

    let (client, asked) = server(vec![("/apis", GROUPS_WITHOUT_IT)]);
    let source = ApiListWatch::<Pod>::new(client, &(), None);
    assert!(source.is_served().await.is_err_and(|error| error.is_not_found()));
    assert_eq!(
        *asked.lock(),
        ["/api/v1"],
        "no group of that name is in the list of groups"
    );
}
