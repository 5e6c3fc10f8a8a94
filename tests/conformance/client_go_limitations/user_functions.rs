//! Index functions, transforms and error handlers of users: failures are reported and have no other effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use conformance::TestServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube_informer::SharedInformer;

use parking_lot::Mutex;

use crate::observed_informer::ObservedInformer;

/// 18, 23. An index function that fails panics while the store is locked. Here the object stays in the cache
/// without an index entry, and the error or panic is reported.
#[tokio::test]
async fn failing_index_function_keeps_the_object_cached() {
    for panics in [false, true] {
        let server = TestServer::start().await;
        let mut observed = ObservedInformer::on(&server, |informer| informer);
        observed.create("good").await;
        let values = move |map: &ConfigMap| match map.name_any().as_str() {
            "bad" if panics => panic!("a panic on purpose"),
            "bad" => Err("no value to be had"),
            name => Ok(vec![name.to_owned()]),
        };
        let index = observed.informer.try_index("name", values).expect("a new index");
        observed.start().await;
        observed.create("bad").await;
        let error = observed.error().await;
        assert!(error.is_user_code(), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("configmaps") && text.contains("bad") && text.contains("name"),
            "{text}"
        );
        observed.catches_up().await;
        assert!(observed.cached().iter().any(|name| name.starts_with("bad@")));
        assert_eq!(index.get("good").len(), 1);
        assert_eq!(index.get("bad").len(), 0);
        assert_eq!(index.get("marker-0").len(), 1, "the index is still updated");
        observed.delete("bad").await;
        observed.catches_up().await;
    }
}

/// 18. An error of a transform drops the event. Here the list or watch is retried until the transform
/// succeeds: no object is dropped or cached without its transform.
#[tokio::test]
async fn transform_error_is_reported() {
    for streaming in [true, false] {
        let server = TestServer::start().await;
        let failures = Arc::new(Mutex::new(BTreeMap::from([
            ("a".to_owned(), 2),
            ("b".to_owned(), 2),
        ])));
        let left = Arc::clone(&failures);
        let transform = move |map: &mut ConfigMap| {
            if let Some(left) = left.lock().get_mut(&map.name_any())
                && *left > 0
            {
                *left -= 1;
                return Err("not today");
            }
            map.data = None;
            Ok(())
        };
        let mut observed = ObservedInformer::on(&server, |informer| {
            informer.streaming_list(streaming).try_transform(transform)
        });
        observed.create("a").await;
        observed.start().await;
        observed.create("b").await;
        observed.catches_up().await;
        for name in ["a", "a", "b", "b"] {
            let error = observed.error().await;
            let text = error.to_string();
            assert!(error.is_user_code() && text.contains("not today"), "{text}");
            assert!(text.contains(&format!("/{name}:")), "{text}");
        }
        let all = observed
            .informer
            .lister()
            .list(&kube_informer::Selector::everything());
        assert!(all.iter().all(|map| map.data.is_none()), "nothing untransformed");
    }
}

/// A panic of a transform is handled like an error.
#[tokio::test]
async fn panicking_transform_is_reported() {
    let server = TestServer::start().await;
    let first = std::sync::atomic::AtomicBool::new(true);
    let transform = move |_: &mut ConfigMap| {
        assert!(
            !first.swap(false, std::sync::atomic::Ordering::Relaxed),
            "a panic on purpose"
        );
    };
    let mut observed = ObservedInformer::on(&server, |informer| informer.transform(transform));
    observed.create("a").await;
    observed.start().await;
    let error = observed.error().await;
    assert!(
        error.is_user_code() && error.to_string().contains("on purpose"),
        "{error}"
    );
    observed.catches_up().await;
}

/// 17, 29. Dynamic and metadata informers have fewer options than typed ones. Here they differ only in the
/// type.
#[tokio::test]
async fn dynamic_and_metadata_informers_have_all_options() {
    use kube::api::{ApiResource, DynamicObject};
    use kube::core::PartialObjectMeta;

    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer);
    let made = observed.create("a").await;
    let dynamic = SharedInformer::<DynamicObject>::builder_with(
        server.client.clone(),
        ApiResource::erase::<ConfigMap>(&()),
    )
    .namespace(&server.namespace)
    .fields("metadata.name=a")
    .build();
    let by_value = dynamic
        .index("value", |map: &DynamicObject| {
            map.data["data"]["value"].as_str().map(str::to_owned)
        })
        .expect("a new index");
    let metadata = SharedInformer::<PartialObjectMeta<ConfigMap>>::builder(server.client.clone())
        .namespace(&server.namespace)
        .build();
    dynamic.start().expect("a first start");
    metadata.start().expect("a first start");
    dynamic
        .wait_for_version(made, observed.patience)
        .await
        .expect("reached");
    metadata
        .wait_for_version(made, observed.patience)
        .await
        .expect("reached");
    assert_eq!(by_value.get("1").len(), 1);
    let all = metadata.lister().list(&kube_informer::Selector::everything());
    assert!(all.iter().any(|map| map.name_any() == "a"));
    dynamic.shutdown().await;
    metadata.shutdown().await;
}
