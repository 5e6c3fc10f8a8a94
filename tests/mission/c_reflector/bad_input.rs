//! C5. What a server, or something that took its place, should not have sent.

use std::time::Duration;

use http::Response;
use kube::client::Body;
use kube_embedded::{Fault, On};
use kube_informer::Version;
use mission::TestServer;

use crate::scene::Scene;
use crate::tap::answer;

const JSON: &str = "application/json";

/// Answers that are no list of config maps, and what is said of each.
fn bad_lists() -> Vec<(&'static str, &'static str, Response<Body>)> {
    let list = |kind: &str, items: &str| {
        format!(
            r#"{{"kind":"{kind}","apiVersion":"v1","metadata":{{"resourceVersion":"7"}},"items":[{items}]}}"#
        )
    };
    let good = r#"{"metadata":{"name":"bad","resourceVersion":"6"}}"#;
    let in_list = |item: &str| answer(200, JSON, list("ConfigMapList", &format!("{good},{item}")));
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
            "not an object",
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
async fn c5_a_bad_list_is_told_and_changes_nothing() {
    let server = TestServer::start().await;
    for (name, word, bad) in bad_lists() {
        let mut scene = Scene::live(&server, |informer| informer.streaming_list(false));
        let expired = answer(200, JSON, EXPIRED);
        scene.tap.answer([("watch last", expired), ("list last", bad)]);
        scene.start().await;
        let before = (scene.informer.resource_version(), scene.cached());
        assert!(scene.error().await.is_expired(), "{name}");
        let error = scene.error().await;
        let text = format!("{error:?}");
        assert!(
            text.contains("configmaps") && text.contains(word),
            "{name}: {text}"
        );
        assert_eq!(error.is_bad_data(), name != "HTML of a gateway", "{name}: {text}");
        assert!(
            !went_back(before.0.as_ref(), scene.informer.resource_version().as_ref()),
            "{name}"
        );
        assert!(
            before.1.is_subset(&scene.cached()),
            "{name}: {:?}",
            scene.cached()
        );
        scene.catches_up().await;
        assert_eq!(scene.errors(), [""; 0], "{name}");
        scene.informer.shutdown().await;
    }
}

fn went_back(from: Option<&Version>, to: Option<&Version>) -> bool {
    matches!((from, to), (Some(from), Some(to)) if to.is_before(from))
}

const EXPIRED: &str =
    r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}"#;

/// Events that are none, and what is said of each.
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
        "x does not fit",
        r#"{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"9"},"data":1}}"#,
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
        "error that is none",
        "not a Status",
        r#"{"type":"ERROR","object":7}"#,
    ),
    (
        "a list",
        "ConfigMapList",
        r#"{"type":"ADDED","object":{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[]}}"#,
    ),
];

#[tokio::test]
async fn c5_a_bad_event_is_told_and_changes_nothing() {
    let server = TestServer::start().await;
    for (name, word, bad) in BAD_EVENTS {
        let mut scene = Scene::live(&server, |informer| informer.streaming_list(false));
        scene
            .tap
            .answer([("watch last", answer(200, JSON, format!("{bad}\n")))]);
        scene.start().await;
        let error = scene.error().await;
        let text = format!("{error:?}");
        assert!(error.is_bad_data(), "{name}: {text}");
        assert!(
            text.contains("watching configmaps") && text.contains(word),
            "{name}: {text}"
        );
        let names = scene.cached();
        assert!(
            !names.iter().any(|name| name.starts_with("x@")),
            "{name}: {names:?}"
        );
        scene.catches_up().await;
        assert_eq!(scene.errors(), [""; 0], "{name}");
        scene.informer.shutdown().await;
    }
}

#[tokio::test]
async fn c5_a_watch_that_something_else_answers_is_told() {
    let server = TestServer::start().await;
    let mut scene = Scene::live(&server, |informer| informer.streaming_list(false));
    let page = || answer(200, "text/html", "<html>Please log in</html>");
    scene.tap.answer([("watch last", page())]);
    scene.start().await;
    let error = scene.error().await;
    assert!(
        error.is_bad_data() && error.to_string().contains("text/html"),
        "{error}"
    );
    scene.catches_up().await;
}

/// The same, as the embedded server spoils its own answers, in lists, streams and watches. Embedded only.
#[tokio::test(start_paused = true)]
async fn c5_spoiled_answers_of_every_kind_are_survived() {
    let faults = [
        Fault::WrongKind,
        Fault::NoMetadata,
        Fault::UnwantedTable,
        Fault::BrokenJson(1),
        Fault::CutAfterBytes(60),
        Fault::CutAfterEvents(1),
    ];
    for fault in faults {
        for streaming in [true, false] {
            let (server, mut scene) = Scene::paused(|informer| informer.streaming_list(streaming)).await;
            scene.make("a").await;
            scene.make("b").await;
            scene.start().await;
            let mut told = scene.events();
            assert_eq!(told.sorted(2).await, ["+a", "+b"]);
            let rule = server
                .faults()
                .add(On::list_or_watch("configmaps").times(5), fault.clone());
            // The list and the streams are spoiled as well: there is nothing to resume from.
            server.cut_connections();
            server.compact_history();
            scene.error_that(kube_informer::Error::is_connection).await;
            scene.change("a", "2").await;
            scene.delete("b").await;
            for _ in 0..3 {
                let error = scene.error().await;
                assert!(error.to_string().contains("configmaps"), "{fault:?}: {error}");
            }
            scene.catches_up().await;
            assert!(rule.hits() > 1, "{fault:?}");
            let words = told.until("+marker-0").await;
            assert_eq!(
                words.iter().filter(|word| word.starts_with("-b")).count(),
                1,
                "{fault:?}: {words:?}"
            );
            assert_eq!(
                words.iter().filter(|word| *word == "~a").count(),
                1,
                "{fault:?}: {words:?}"
            );
        }
    }
}

/// No object of Kubernetes is as large as this. Embedded only.
#[tokio::test(start_paused = true)]
async fn c5_an_event_of_enormous_size_is_not_collected() {
    let (server, mut scene) = Scene::paused(|informer| informer.streaming_list(false)).await;
    scene.make("a").await;
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::Oversized(65 << 20));
    scene.start().await;
    let before = scene.informer.resource_version();
    scene.change("a", "2").await;
    let error = scene.error().await;
    assert!(error.is_bad_data(), "{error}");
    assert!(error.to_string().contains("64 MiB"), "{error}");
    assert_eq!(scene.informer.resource_version(), before);
    scene.catches_up().await;
}

/// A slow line is not a broken one: bytes come in drops, for minutes. Embedded only.
#[tokio::test(start_paused = true)]
async fn c5_answers_in_drops_are_answers() {
    for streaming in [true, false] {
        let (server, mut scene) = Scene::paused(|informer| informer.streaming_list(streaming)).await;
        scene.make("a").await;
        let drops = Fault::Drip(7, Duration::from_millis(50));
        server.faults().add(On::list_or_watch("configmaps"), drops);
        scene.start().await;
        scene.catches_up().await;
        assert_eq!(scene.errors(), [""; 0]);
    }
}
