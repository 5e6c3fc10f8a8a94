//! Versions: never older than before, and available for waiting.

use conformance::TestServer;

use crate::observed_informer::ObservedInformer;
use crate::tap::answer;

/// 9, 24. The version of a store is the last one received, even if it is older. Here an event, a bookmark or
/// a list older than the cache is never applied. It is reported, and the newest version is requested.
#[tokio::test]
async fn older_version_is_never_applied() {
    let stale_event = |namespace: &str, version: u64| {
        format!(
            r#"{{"type":"MODIFIED","object":{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"a","namespace":"{namespace}","resourceVersion":"{version}"}}}}}}"#
        )
    };
    let stale_bookmark = |version: u64| {
        format!(
            r#"{{"type":"BOOKMARK","object":{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"resourceVersion":"{version}"}}}}}}"#
        )
    };
    let stale_list = |version: u64| {
        format!(
            r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}"}},"items":[]}}"#
        )
    };
    for what in ["event", "bookmark", "list"] {
        let server = TestServer::start().await;
        let mut observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false));
        let made = observed.create("a").await;
        let body = match what {
            "event" => stale_event(&server.namespace, made - 1),
            "bookmark" => stale_bookmark(made - 1),
            _ => stale_list(made - 1),
        };
        let answer = move || answer(200, "application/json", format!("{body}\n"));
        let mut done = false;
        observed.tap.proxy(move |asked, request| {
            // The first list is at the newest version, so that stale ones are detected.
            if asked.version() == Some(0) {
                let uri = request.uri().to_string().replace("&resourceVersion=0", "");
                *request.uri_mut() = uri.parse().expect("a URI as before");
            }
            let here = if what == "list" {
                asked.to_string() == "list last"
            } else {
                asked.is_plain_watch()
            };
            if what == "list" && asked.is_plain_watch() && !done {
                return Some(crate::tap::failure(410, "Expired", "too old"));
            }
            if !here || done {
                return None;
            }
            done = true;
            Some(answer())
        });
        observed.start().await;
        let before = observed.cached();
        let error = observed.error_that(|error| !error.is_expired()).await;
        assert!(error.is_behind(), "{what}: {error}");
        assert!(
            error.to_string().contains(&(made - 1).to_string()),
            "{what}: {error}"
        );
        assert_eq!(observed.cached(), before, "{what}");
        observed.catches_up().await;
        assert_eq!(observed.informer.status().went_back, 0, "{what}");
        let words = observed.tap.words();
        assert_eq!(
            words[words.len() - 2..],
            ["list newest 500", "watch last"],
            "{what}: {words:?}"
        );
    }
}

/// 14. Reading one's own writes requires a mutation cache with a time to live. Here a caller waits for the
/// version that the write returned.
#[tokio::test]
async fn writes_can_be_awaited_in_the_cache() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer);
    observed.create("a").await;
    observed.start().await;
    for value in ["2", "3", "4"] {
        let written = observed.change("a", value).await;
        observed.reach(written).await;
        let lister = observed.informer.lister();
        let read = lister
            .namespace(&server.namespace)
            .get("a")
            .expect("a cached object");
        assert_eq!(
            read.data
                .as_ref()
                .and_then(|data| data.get("value"))
                .map(String::as_str),
            Some(value)
        );
    }
}
