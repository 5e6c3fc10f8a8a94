//! The reflector in a whole informer: what users set reaches it, and what it brings reaches the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;

use super::scripted::{Script, Shared, Told, added, at, deleted, initial_end, modified};
use crate::informer::SharedInformer;

/// An informer that reads a script, and what it tells its watch-error handler.
fn informer(
    script: Script,
    streaming: bool,
) -> (SharedInformer<ConfigMap>, Arc<Script>, Arc<Mutex<Vec<String>>>) {
    let script = Arc::new(script);
    let informer = SharedInformer::builder_from(Shared(Arc::clone(&script)), ())
        .streaming_list(streaming)
        .seed(1)
        .build();
    let errors = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&errors);
    informer
        .set_watch_error_handler(move |error| told.lock().push(error.to_string()))
        .expect("it is not started");
    (informer, script, errors)
}

fn names(informer: &SharedInformer<ConfigMap>) -> Vec<String> {
    let mut names: Vec<_> = informer
        .snapshot()
        .iter()
        .map(|object| format!("{}@{}", object.key().name(), object.version()))
        .collect();
    names.sort();
    names
}

#[tokio::test(start_paused = true)]
async fn a_failed_transform_fails_the_list_as_a_whole_and_is_told() {
    let script = Script::new()
        .lists(&["a@1", "b@2", "c@3"], at("10"))
        .lists(&["a@1", "c@3"], at("11"));
    let (informer, script, errors) = informer(script, false);
    informer
        .set_try_transform(|object: &mut ConfigMap| match object.metadata.name.as_deref() {
            Some("b") => Err("b is not wanted"),
            _ => Ok(()),
        })
        .expect("it is not started");
    informer.start().expect("the first start");
    informer
        .wait_for_sync(Duration::from_secs(10))
        .await
        .expect("the second list is good");
    assert_eq!(names(&informer), ["a@1", "c@3"]);
    assert_eq!(
        *errors.lock(),
        ["the cache of configmaps: the transform failed for default/b: b is not wanted"]
    );
    let requests: Vec<_> = script.requests();
    let requests: Vec<_> = requests.iter().filter_map(|text| text.split_once(' ')).collect();
    assert_eq!(requests[0], ("0s", "list 0 by 500"));
    assert_eq!(requests[1].1, "list 0 by 500");
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_transform_that_panics_in_a_watch_ends_it_and_a_list_follows() {
    let script = Script::new()
        .lists(&["a@1"], at("10"))
        .sends(vec![added("b@11"), modified("bad@12"), added("never@13")])
        .lists(&["a@1", "b@11"], at("14"));
    let (informer, script, errors) = informer(script, false);
    informer
        .set_transform(|object: &mut ConfigMap| {
            assert_ne!(object.metadata.name.as_deref(), Some("bad"), "it is bad");
        })
        .expect("it is not started");
    informer.start().expect("the first start");
    informer
        .wait_for_version("14", Duration::from_secs(10))
        .await
        .expect("the second list is good");
    assert_eq!(names(&informer), ["a@1", "b@11"]);
    let errors = errors.lock().clone();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].starts_with("the cache of configmaps: the transform failed for default/bad: it panicked"),
        "{errors:?}"
    );
    assert_eq!(script.requests()[1], "0s watch 10");
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn initial_objects_are_transformed_once_each() {
    let script = Script::new().sends(vec![
        added("a@1"),
        added("b@2"),
        added("c@3"),
        initial_end("10"),
        Told::Silence,
    ]);
    let (informer, _script, errors) = informer(script, true);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    informer
        .set_transform(move |_: &mut ConfigMap| {
            counted.fetch_add(1, Ordering::SeqCst);
        })
        .expect("it is not started");
    informer.start().expect("the first start");
    informer
        .wait_for_sync(Duration::from_secs(5))
        .await
        .expect("the stream is whole");
    assert_eq!(calls.load(Ordering::SeqCst), 3);
    assert!(errors.lock().is_empty());
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_store_follows_objects_bookmarks_and_lists() {
    let script = Script::new().sends(vec![
        added("a@1"),
        initial_end("10"),
        added("b@20"),
        super::scripted::bookmark("30"),
        deleted("a@40"),
        Told::Silence,
    ]);
    let (informer, _script, _errors) = informer(script, true);
    assert_eq!(informer.resource_version(), None);
    informer.start().expect("the first start");
    informer
        .wait_for_version("40", Duration::from_secs(5))
        .await
        .expect("everything comes at once");
    assert_eq!(names(&informer), ["b@20"]);
    assert_eq!(informer.resource_version(), Some("40".into()));
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn less_than_five_minutes_of_watching_count_as_five() {
    for (asked, least) in [(1, 300), (300, 300), (1_200, 1_200)] {
        let script = Arc::new(Script::new().lists(&[], at("10")));
        let informer = SharedInformer::<ConfigMap>::builder_from(Shared(Arc::clone(&script)), ())
            .streaming_list(false)
            .watch_timeout(Duration::from_secs(asked))
            .build();
        informer.start().expect("the first start");
        informer
            .wait_for_sync(Duration::from_secs(5))
            .await
            .expect("the list is good");
        informer.shutdown().await;
        let timeouts = script.timeouts();
        assert_eq!(timeouts.len(), 1);
        let least = Duration::from_secs(least);
        assert!((least..=2 * least).contains(&timeouts[0]), "{timeouts:?}");
    }
}
