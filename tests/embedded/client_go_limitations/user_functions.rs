//! Transforms and errors: each state is transformed once, and every error is reported.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube_informer::CacheFormat;

use parking_lot::Mutex;

use crate::informers::form;
use crate::observed_informer::ObservedInformer;

/// 25, and the note on streaming lists. The transform runs twice for objects of a streaming list, and not at
/// all for others. Here it runs once for each cached state of an object.
#[tokio::test(start_paused = true)]
async fn transform_runs_once_per_state() {
    for streaming in [true, false] {
        let transform = |map: &mut ConfigMap| {
            let times = map.annotations_mut().entry("times".into()).or_default();
            times.push('|');
        };
        let calls = Arc::new(Mutex::new(Vec::new()));
        let called = Arc::clone(&calls);
        let counting = move |map: &mut ConfigMap| {
            let state = format!(
                "{}@{}",
                map.name_any(),
                map.resource_version().unwrap_or_default()
            );
            called.lock().push(state);
            transform(map);
        };
        let (server, observed) =
            ObservedInformer::paused(|informer| informer.streaming_list(streaming).transform(counting)).await;
        for name in ["a", "b", "c"] {
            observed.create(name).await;
        }
        observed.start().await;
        let last = observed.change("a", "2").await;
        observed.reach(last).await;
        // The relist finds the same versions, so no object is transformed again.
        server.faults().add(
            kube_embedded::On::watch("configmaps").once(),
            kube_embedded::Fault::expired(),
        );
        server.cut_connections();
        observed.catches_up().await;
        let all = observed
            .informer
            .lister()
            .list(&kube_informer::Selector::everything());
        assert_eq!(all.len(), 4);
        for map in &all {
            assert_eq!(
                map.annotations().get("times").map(String::as_str),
                Some("|"),
                "{}",
                map.name_any()
            );
        }
        let mut states = calls.lock().clone();
        let count = states.len();
        states.sort();
        states.dedup();
        assert_eq!(states.len(), 5, "{states:?}");
        // A packed object is transformed on every decode.
        assert!(
            count == 5 || form() == CacheFormat::Packed && count > 5,
            "{count}"
        );
    }
}

/// 18. Errors are dropped. Here every one is reported, counted, and kept in the status, even if the error
/// handler panics.
#[tokio::test(start_paused = true)]
async fn watch_errors_are_reported() {
    let (server, observed) = ObservedInformer::paused(|informer| {
        informer
            .streaming_list(false)
            .watch_error_handler(|error| panic!("a panic on purpose, about {error}"))
    })
    .await;
    server.faults().add(
        kube_embedded::On::list("configmaps").times(3),
        kube_embedded::Fault::forbidden(),
    );
    observed.start().await;
    let status = observed.informer.status();
    assert_eq!(status.errors, 3);
    let last = status.last_error.expect("an error");
    assert!(last.is_forbidden(), "{last}");
    assert!(
        last.to_string().contains("grant list and watch on configmaps"),
        "{last}"
    );
    observed.catches_up().await;
}

/// 18. A failed wait does not contain the reason. Here it contains the kind and the last error.
#[tokio::test(start_paused = true)]
async fn failed_wait_reports_its_cause() {
    let (server, observed) = ObservedInformer::paused(|informer| informer).await;
    server.faults().add(
        kube_embedded::On::list_or_watch("configmaps"),
        kube_embedded::Fault::forbidden(),
    );
    observed.informer.start().expect("a first start");
    let wait = observed
        .informer
        .wait_for_sync(std::time::Duration::from_secs(30))
        .await;
    let error = wait.expect_err("lists are forbidden");
    assert!(error.is_timeout() && error.is_forbidden(), "{error}");
    let text = format!("{error:#}");
    assert!(
        text.contains("configmaps") && text.contains("30s") && text.contains("403"),
        "{text}"
    );
}
