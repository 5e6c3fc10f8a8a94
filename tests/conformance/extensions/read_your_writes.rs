//! Reading one's own writes: waits until the cache has the version that a write returned.

use std::pin::pin;
use std::time::Duration;

use conformance::TestServer;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, PostParams};
use kube_informer::{Key, ResourceVersion, Selector, SharedInformer};
use serde_json::json;

use crate::config_maps::{ConfigMaps, value, version_of};
use crate::informers::{PATIENCE, caught_up, names, soon, started, stopped};

#[tokio::test]
async fn created_and_changed_objects_are_in_the_cache() {
    let maps = ConfigMaps::named([]).await;
    let informer = maps.informer();
    started(&informer).await;
    let lister = informer.lister();
    for number in 0..20 {
        let name = format!("map-{number}");
        let created = maps.create(&name, "1").await;
        caught_up(&informer, created).await;
        let read = lister.get_key(&maps.key(&name)).expect("what was written");
        assert_eq!(value(&read), "1");
        let changed = maps.change(&name, "2").await;
        caught_up(&informer, changed.clone()).await;
        let read = lister.get_key(&maps.key(&name)).expect("what was written");
        assert_eq!((value(&read), version_of(&*read)), ("2", changed));
    }
    stopped(&informer).await;
}

#[tokio::test]
async fn wait_lasts_until_the_write_arrives() {
    let maps = ConfigMaps::named(["gone"]).await;
    let (informer, let_go) = maps.held();
    started(&informer).await;
    let_go.send_replace(false);
    maps.delete("gone").await;
    let created = maps.create("a", "1").await;
    let changed = maps.change("a", "2").await;
    let mut first = pin!(informer.wait_for_version(created, PATIENCE));
    let mut second = pin!(informer.wait_for_version(changed, PATIENCE));
    assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
    assert_eq!(names(&informer.lister().list(&Selector::everything())), ["gone"]);
    let_go.send_replace(true);
    soon(first).await.expect("the version of a write");
    assert_eq!(names(&informer.lister().list(&Selector::everything())), ["a"]);
    soon(second).await.expect("the version of a write");
    let read = informer
        .lister()
        .get_key(&maps.key("a"))
        .expect("what was written");
    assert_eq!(value(&read), "2");
    stopped(&informer).await;
}

#[tokio::test]
async fn deleted_object_is_not_in_the_cache() {
    let server = TestServer::start().await;
    let api: Api<Pod> = Api::namespaced(server.client.clone(), &server.namespace);
    let informer = SharedInformer::<Pod>::builder(server.client.clone())
        .namespace(&server.namespace)
        .build();
    started(&informer).await;
    let pod = json!({
        "metadata": { "name": "web" },
        "spec": { "containers": [{ "name": "main", "image": "example.com/image" }] },
    });
    let pod: Pod = serde_json::from_value(pod).expect("a pod");
    let made = api.create(&PostParams::default(), &pod).await.expect("a pod");
    caught_up(&informer, version_of(&made)).await;
    let key = Key::namespaced(&server.namespace, "web");
    assert!(informer.lister().get_key(&key).is_ok());
    // The deletion of a pod responds with the object, at the version of the deletion.
    let deleted = api.delete("web", &DeleteParams::default().grace_period(0)).await;
    let last = deleted.expect("a deletion").left().expect("the object");
    assert!(version_of(&made).is_before(&version_of(&last)));
    caught_up(&informer, version_of(&last)).await;
    let gone = informer.lister().get_key(&key);
    assert!(gone.is_err_and(|error| error.is_not_found()));
    stopped(&informer).await;
}

/// Other kinds respond with a status without a version. A later write can be awaited instead, because watches
/// are ordered.
#[tokio::test]
async fn waiting_for_a_later_write_includes_earlier_deletions() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    let informer = maps.informer();
    started(&informer).await;
    maps.delete("a").await;
    let later = maps.change("b", "2").await;
    caught_up(&informer, later).await;
    assert!(informer.lister().get_key(&maps.key("a")).is_err());
    stopped(&informer).await;
}

#[tokio::test]
async fn version_can_be_awaited_before_sync() {
    let maps = ConfigMaps::named([]).await;
    let written = maps.create("a", "1").await;
    let informer = maps.informer();
    let mut waiting = pin!(informer.wait_for_version(written, PATIENCE));
    assert!(futures::poll!(&mut waiting).is_pending());
    informer.start().expect("a start");
    soon(waiting).await.expect("the version of a write");
    assert!(informer.lister().get_key(&maps.key("a")).is_ok());
    stopped(&informer).await;
}

#[tokio::test]
async fn incomparable_versions_are_not_awaited() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    for started_already in [false, true] {
        if started_already {
            started(&informer).await;
        }
        for version in ["", "0", "a1f", "007"] {
            let error = soon(informer.wait_for_version(version, PATIENCE)).await;
            let error = error.expect_err("no order");
            assert!(error.is_not_comparable() && !error.is_timeout(), "{error}");
            let text = error.to_string();
            assert!(text.contains("cannot be compared"), "{text}");
        }
    }
    stopped(&informer).await;
}

#[tokio::test]
async fn wait_ends_at_its_deadline_or_with_the_informer() {
    let maps = ConfigMaps::named([]).await;
    let informer = maps.informer();
    started(&informer).await;
    let at = informer.resource_version().expect("a version");
    let never = ResourceVersion::from("9223372036854775807");
    let error = informer.wait_for_version(never.clone(), Duration::ZERO).await;
    let error = error.expect_err("too far ahead");
    assert!(error.is_timeout());
    let text = error.to_string();
    for words in ["configmaps", &at.to_string(), &never.to_string()] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // A version that is already reached returns immediately.
    let reached = informer.wait_for_version(at, Duration::ZERO).await;
    reached.expect("the current version");
    let (waited, ()) =
        soon(async { tokio::join!(informer.wait_for_version(never, PATIENCE), informer.shutdown()) }).await;
    assert!(waited.expect_err("no more versions").is_stopped());
}
