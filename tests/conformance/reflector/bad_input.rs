//! Invalid responses of a server, or of another program at its address.

use conformance::TestServer;
use http::Response;
use kube::client::Body;
use kube_informer::ResourceVersion;

use crate::observed_informer::ObservedInformer;
use crate::tap::answer;

const JSON: &str = "application/json";

/// Returns invalid lists of config maps, and the expected errors.
fn bad_lists(namespace: &str) -> Vec<(&'static str, &'static str, Response<Body>)> {
    let list = |kind: &str, items: &str| {
        format!(
            r#"{{"kind":"{kind}","apiVersion":"v1","metadata":{{"resourceVersion":"7"}},"items":[{items}]}}"#
        )
    };
    let good = &in_namespace(r#"{"metadata":{"name":"bad","resourceVersion":"6"}}"#, namespace);
    let in_list = |item: &str| {
        let items = format!("{good},{}", in_namespace(item, namespace));
        answer(200, JSON, list("ConfigMapList", &items))
    };
    vec![
        ("wrong list", "PodList", answer(200, JSON, list("PodList", ""))),
        (
            "wrong kind",
            "expected ConfigMap",
            in_list(r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"5"}}"#),
        ),
        ("no metadata", "metadata", in_list(r#"{"data":{}}"#)),
        (
            "no name",
            "name",
            in_list(r#"{"metadata":{"resourceVersion":"5"}}"#),
        ),
        (
            "no version of an object",
            "resourceVersion",
            in_list(r#"{"metadata":{"name":"x"}}"#),
        ),
        (
            "no version of the list",
            "resourceVersion",
            answer(
                200,
                JSON,
                r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[]}"#,
            ),
        ),
        (
            "wrong type",
            "x",
            in_list(r#"{"metadata":{"name":"x","resourceVersion":"5"},"data":7}"#),
        ),
        (
            "Table",
            "Table",
            answer(
                200,
                JSON,
                r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"rows":[]}"#,
            ),
        ),
        (
            "half JSON",
            "JSON",
            answer(200, JSON, &list("ConfigMapList", good)[..90]),
        ),
        (
            "broken JSON",
            "expected a field name",
            answer(200, JSON, "{\"items\":[{]}"),
        ),
        ("nothing", "JSON", answer(200, JSON, "")),
        (
            "HTML",
            "text/html",
            answer(200, "text/html; charset=utf-8", "<html>Please log in</html>"),
        ),
        (
            "HTML that says it is JSON",
            "JSON",
            answer(200, JSON, "<html>Please log in</html>"),
        ),
        (
            "HTML of a gateway",
            "502",
            answer(502, "text/html", "<html>Bad Gateway</html>"),
        ),
        (
            "protobuf",
            "protobuf",
            answer(200, "application/vnd.kubernetes.protobuf", "k8s\0"),
        ),
    ]
}

#[tokio::test]
async fn bad_list_is_reported_and_changes_nothing() {
    let server = TestServer::start().await;
    for (name, word, bad) in bad_lists(&server.namespace) {
        let mut observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false));
        let expired = answer(200, JSON, EXPIRED);
        observed.tap.answer([("watch last", expired), ("list last", bad)]);
        observed.start().await;
        let before = (observed.informer.resource_version(), observed.cached());
        assert!(observed.error().await.is_expired(), "{name}");
        let error = observed.error().await;
        let text = format!("{error:?}");
        assert!(
            text.contains("configmaps") && text.contains(word),
            "{name}: {text}"
        );
        assert_eq!(error.is_bad_data(), name != "HTML of a gateway", "{name}: {text}");
        assert!(
            !went_back(before.0.as_ref(), observed.informer.resource_version().as_ref()),
            "{name}"
        );
        assert!(
            before.1.is_subset(&observed.cached()),
            "{name}: {:?}",
            observed.cached()
        );
        observed.catches_up().await;
        assert_eq!(observed.errors(), [""; 0], "{name}");
        observed.informer.shutdown().await;
    }
}

/// Moves the named objects of a text into a namespace.
fn in_namespace(text: &str, namespace: &str) -> String {
    text.replace(r#"{"name":"#, &format!(r#"{{"namespace":"{namespace}","name":"#))
}

fn went_back(from: Option<&ResourceVersion>, to: Option<&ResourceVersion>) -> bool {
    matches!((from, to), (Some(from), Some(to)) if to.is_before(from))
}

const EXPIRED: &str =
    r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}"#;

/// Invalid events, and the expected errors.
const BAD_EVENTS: [(&str, &str, &str); 13] = [
    (
        "wrong kind",
        "Pod",
        r#"{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"9"}}}"#,
    ),
    (
        "no metadata",
        "metadata",
        r#"{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1"}}"#,
    ),
    (
        "no name",
        "name",
        r#"{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"9"}}}"#,
    ),
    (
        "no version",
        "resourceVersion",
        r#"{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"}}}"#,
    ),
    (
        "wrong type",
        "/x: data: type mismatch",
        r#"{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"9000000000"},"data":1}}"#,
    ),
    (
        "Table",
        "Table",
        r#"{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}}"#,
    ),
    (
        "broken JSON",
        "watch event",
        r#"{"type":"ADDED","object":{"kind":]}"#,
    ),
    ("no object", "JSON", r#"{"type":"ADDED"}"#),
    ("null", "watch event", r#"{"type":"ADDED","object":null}"#),
    (
        "unknown type",
        "SURPRISE",
        r#"{"type":"SURPRISE","object":{"kind":"ConfigMap"}}"#,
    ),
    (
        "bookmark without version",
        "bookmark",
        r#"{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{}}}"#,
    ),
    (
        "error without a status",
        "invalid Status",
        r#"{"type":"ERROR","object":7}"#,
    ),
    (
        "a list",
        "ConfigMapList",
        r#"{"type":"ADDED","object":{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[]}}"#,
    ),
];

#[tokio::test]
async fn bad_event_is_reported_and_changes_nothing() {
    let server = TestServer::start().await;
    for (name, word, bad) in BAD_EVENTS {
        let bad = in_namespace(bad, &server.namespace);
        let mut observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false));
        observed
            .tap
            .answer([("watch last", answer(200, JSON, format!("{bad}\n")))]);
        observed.start().await;
        let error = observed.error().await;
        let text = format!("{error:?}");
        assert!(error.is_bad_data(), "{name}: {text}");
        assert!(
            text.contains("watching configmaps") && text.contains(word),
            "{name}: {text}"
        );
        let names = observed.cached();
        assert!(
            !names.iter().any(|name| name.starts_with("x@")),
            "{name}: {names:?}"
        );
        observed.catches_up().await;
        assert_eq!(observed.errors(), [""; 0], "{name}");
        observed.informer.shutdown().await;
    }
}

#[tokio::test]
async fn watch_answered_by_something_else_is_reported() {
    let server = TestServer::start().await;
    let mut observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false));
    let page = || answer(200, "text/html", "<html>Please log in</html>");
    observed.tap.answer([("watch last", page())]);
    observed.start().await;
    let error = observed.error().await;
    assert!(
        error.is_bad_data() && error.to_string().contains("text/html"),
        "{error}"
    );
    observed.catches_up().await;
}
