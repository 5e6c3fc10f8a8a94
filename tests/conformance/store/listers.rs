//! Listers.

use conformance::TestServer;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use kube_informer::{Object, Selector, SharedInformer, WatchedResource};

use crate::config_maps::ConfigMaps;
use crate::informers::{caught_up, names, started, stopped};

fn selector(text: &str) -> Selector {
    text.parse().expect("a selector")
}

#[tokio::test]
async fn lister_filters_by_labels_and_namespace() {
    let maps = ConfigMaps::named([]).await;
    maps.create_labelled("a", "1", &[("tier", "front"), ("team", "red")])
        .await;
    maps.create_labelled("b", "1", &[("tier", "back"), ("team", "red")])
        .await;
    maps.create_labelled("c", "1", &[("tier", "back")]).await;
    let informer = maps.informer();
    let lister = informer.lister();
    assert!(lister.is_empty());
    started(&informer).await;
    for (text, wanted) in [
        ("", &["a", "b", "c"][..]),
        ("tier=back", &["b", "c"]),
        ("tier!=back", &["a"]),
        ("tier in (front,back),team=red", &["a", "b"]),
        ("!team", &["c"]),
        ("tier=none", &[]),
    ] {
        let selector = selector(text);
        assert_eq!(names(&lister.list(&selector)), wanted, "{text}");
        let here = lister.namespace(&maps.server.namespace).list(&selector);
        assert_eq!(names(&here), wanted, "{text}");
        assert!(lister.namespace("elsewhere").list(&selector).is_empty());
        assert_eq!(informer.snapshot().select(&selector).count(), wanted.len());
    }
    // A lister sees later changes.
    let version = maps.create_labelled("d", "1", &[("tier", "back")]).await;
    caught_up(&informer, version).await;
    assert_eq!(names(&lister.list(&selector("tier=back"))), ["b", "c", "d"]);
    stopped(&informer).await;
}

#[tokio::test]
async fn lister_returns_the_shared_object() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    started(&informer).await;
    let lister = informer.lister();
    let here = lister.namespace(&maps.server.namespace);
    let one = here.get("a").expect("the object");
    assert!(Object::ptr_eq(&one, &here.get("a").expect("the object")));
    assert!(Object::ptr_eq(
        &one,
        &lister.get_key(&maps.key("a")).expect("the object")
    ));
    assert!(Object::ptr_eq(&one, &here.list(&Selector::everything())[0]));
    stopped(&informer).await;
}

#[tokio::test]
async fn not_found_error_names_the_resource() {
    let server = TestServer::start().await;
    let deployments = SharedInformer::<Deployment>::builder(server.client.clone())
        .namespace(&server.namespace)
        .build();
    started(&deployments).await;
    let lister = deployments.lister();
    let error = lister.namespace("shop").get("web").expect_err("none there");
    assert!(error.is_not_found());
    assert_eq!(
        error.to_string(),
        "deployments.apps \"shop/web\" not found in the cache"
    );
    assert_eq!(error.resource().map(WatchedResource::kind), Some("Deployment"));
    stopped(&deployments).await;
}

#[tokio::test]
async fn cluster_scoped_objects_are_read_by_name() {
    let server = TestServer::start().await;
    let namespaces = SharedInformer::<Namespace>::builder(server.client.clone())
        .fields(format!("metadata.name={}", server.namespace))
        .build();
    started(&namespaces).await;
    let lister = namespaces.lister();
    let own = lister.get(&server.namespace).expect("the namespace");
    assert_eq!(own.metadata.name.as_ref(), Some(&server.namespace));
    assert_eq!(lister.len(), 1);
    let error = lister.get("none").expect_err("none there");
    assert_eq!(error.to_string(), "namespaces \"none\" not found in the cache");
    stopped(&namespaces).await;
}
