//! What users hand in: index functions, transforms, error handlers. What fails is told, and harms nothing else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube_informer::{Form, SharedInformer};
use mission::TestServer;

use crate::informers::form;
use crate::scene::Scene;

/// 18, 23. An index function that fails panics with the store's lock held. Here the object stays in the cache and out of
/// the index, and the error is told, whether it fails or panics.
#[tokio::test]
async fn failing_index_function() {
    for panics in [false, true] {
        let server = TestServer::start().await;
        let mut scene = Scene::live(&server, |informer| informer);
        scene.make("good").await;
        let values = move |map: &ConfigMap| match map.name_any().as_str() {
            "bad" if panics => panic!("a panic on purpose"),
            "bad" => Err("no value to be had"),
            name => Ok(vec![name.to_owned()]),
        };
        let index = scene.informer.try_index("name", values).expect("a new index");
        scene.start().await;
        scene.make("bad").await;
        let error = scene.error().await;
        assert!(error.is_user_code(), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("configmaps") && text.contains("bad") && text.contains("name"),
            "{text}"
        );
        scene.catches_up().await;
        assert!(scene.cached().iter().any(|name| name.starts_with("bad@")));
        assert_eq!(index.get("good").len(), 1);
        assert_eq!(index.get("bad").len(), 0);
        assert_eq!(index.get("marker-0").len(), 1, "the index goes on");
        scene.delete("bad").await;
        scene.catches_up().await;
    }
}

/// 18. An error of a transform drops the event. Here the list or watch is tried again until the transform succeeds:
/// nothing is left out, nothing gets in untransformed.
#[tokio::test]
async fn swallowed_transform_error() {
    for streaming in [true, false] {
        let server = TestServer::start().await;
        let mut scene = Scene::live(&server, |informer| informer.streaming_list(streaming));
        scene.make("a").await;
        let failures = Arc::new(Mutex::new(BTreeMap::from([
            ("a".to_owned(), 2),
            ("b".to_owned(), 2),
        ])));
        let left = Arc::clone(&failures);
        let transform = move |map: &mut ConfigMap| {
            if let Some(left) = left.lock().expect("no panics").get_mut(&map.name_any())
                && *left > 0
            {
                *left -= 1;
                return Err("not today");
            }
            map.data = None;
            Ok(())
        };
        scene
            .informer
            .set_try_transform(transform)
            .expect("a new informer");
        scene.start().await;
        scene.make("b").await;
        scene.catches_up().await;
        for name in ["a", "a", "b", "b"] {
            let error = scene.error().await;
            let text = error.to_string();
            assert!(error.is_user_code() && text.contains("not today"), "{text}");
            assert!(text.contains(&format!("/{name}:")), "{text}");
        }
        let all = scene
            .informer
            .lister()
            .list(&kube_informer::Selector::everything());
        assert!(all.iter().all(|map| map.data.is_none()), "nothing untransformed");
    }
}

/// A transform that panics is one that fails.
#[tokio::test]
async fn panicking_transform() {
    let server = TestServer::start().await;
    let mut scene = Scene::live(&server, |informer| informer);
    scene.make("a").await;
    let first = std::sync::atomic::AtomicBool::new(true);
    let transform = move |_: &mut ConfigMap| {
        assert!(
            !first.swap(false, std::sync::atomic::Ordering::Relaxed),
            "a panic on purpose"
        );
    };
    scene.informer.set_transform(transform).expect("a new informer");
    scene.start().await;
    let error = scene.error().await;
    assert!(
        error.is_user_code() && error.to_string().contains("on purpose"),
        "{error}"
    );
    scene.catches_up().await;
}

/// 25, and the note on streaming lists. The transform runs twice on each object of a streaming list, and on others not at
/// all. Here it runs once for each state of an object that comes into the cache.
#[tokio::test(start_paused = true)]
async fn transform_twice() {
    for streaming in [true, false] {
        let (server, scene) = Scene::paused(|informer| informer.streaming_list(streaming)).await;
        for name in ["a", "b", "c"] {
            scene.make(name).await;
        }
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
            called.lock().expect("no panics").push(state);
            transform(map);
        };
        scene.informer.set_transform(counting).expect("a new informer");
        scene.start().await;
        let last = scene.change("a", "2").await;
        scene.reach(last).await;
        // A relist finds everything as it is known: nothing is transformed anew.
        server.faults().add(
            kube_embedded::On::watch("configmaps").once(),
            kube_embedded::Fault::expired(),
        );
        server.cut_connections();
        scene.catches_up().await;
        let all = scene
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
        let mut states = calls.lock().expect("no panics").clone();
        let count = states.len();
        states.sort();
        states.dedup();
        assert_eq!(states.len(), 5, "{states:?}");
        // A packed object is transformed whenever it is decoded.
        assert!(count == 5 || form() == Form::Packed && count > 5, "{count}");
    }
}

/// 18. Errors that are nobody's business are dropped. Here every one is told, counted, and kept for those who ask later;
/// also where the handler of errors itself panics.
#[tokio::test(start_paused = true)]
async fn swallowed_watch_errors() {
    let (server, scene) = Scene::paused(|informer| informer.streaming_list(false)).await;
    scene
        .informer
        .set_watch_error_handler(|error| panic!("a panic on purpose, about {error}"))
        .expect("a new informer");
    server.faults().add(
        kube_embedded::On::list("configmaps").times(3),
        kube_embedded::Fault::forbidden(),
    );
    scene.start().await;
    let status = scene.informer.status();
    assert_eq!(status.errors, 3);
    let last = status.last_error.expect("an error");
    assert!(last.is_forbidden(), "{last}");
    assert!(
        last.to_string()
            .contains("needs the verbs list and watch on configmaps"),
        "{last}"
    );
    scene.catches_up().await;
}

/// 18. A wait that fails does not say why. Here it names the kind and the last error.
#[tokio::test(start_paused = true)]
async fn wait_that_does_not_say_why() {
    let (server, scene) = Scene::paused(|informer| informer).await;
    server.faults().add(
        kube_embedded::On::list_or_watch("configmaps"),
        kube_embedded::Fault::forbidden(),
    );
    scene.informer.start().expect("a first start");
    let wait = scene
        .informer
        .wait_for_sync(std::time::Duration::from_secs(30))
        .await;
    let error = wait.expect_err("nobody may list");
    assert!(error.is_timeout() && error.is_forbidden(), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("configmaps") && text.contains("30s") && text.contains("403"),
        "{text}"
    );
}

/// 17, 29. Dynamic and metadata informers lag behind the typed ones. Here they are the same, with another type.
#[tokio::test]
async fn lesser_kinds_of_informers() {
    use kube::api::{ApiResource, DynamicObject};
    use kube::core::PartialObjectMeta;

    let server = TestServer::start().await;
    let scene = Scene::live(&server, |informer| informer);
    let made = scene.make("a").await;
    let dynamic = SharedInformer::<DynamicObject>::builder_with(
        server.client.clone(),
        ApiResource::erase::<ConfigMap>(&()),
    )
    .namespace(&server.namespace)
    .fields("metadata.name=a")
    .build();
    let by_value = dynamic
        .index("value", |map: &DynamicObject| {
            map.data["data"]["v"].as_str().map(str::to_owned)
        })
        .expect("a new index");
    let metadata = SharedInformer::<PartialObjectMeta<ConfigMap>>::builder(server.client.clone())
        .namespace(&server.namespace)
        .build();
    dynamic.start().expect("a first start");
    metadata.start().expect("a first start");
    dynamic
        .wait_for_version(made, scene.patience)
        .await
        .expect("reached");
    metadata
        .wait_for_version(made, scene.patience)
        .await
        .expect("reached");
    assert_eq!(by_value.get("1").len(), 1);
    let all = metadata.lister().list(&kube_informer::Selector::everything());
    assert!(all.iter().any(|map| map.name_any() == "a"));
    dynamic.shutdown().await;
    metadata.shutdown().await;
}
