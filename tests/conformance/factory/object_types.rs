//! Dynamic objects, metadata only, and informers without a factory.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::{ApiResource, GroupVersionResource};
use kube_informer::{SharedInformer, SharedInformerFactory};

use super::{started, stopped};
use crate::config_maps::{ConfigMaps, OWN};
use crate::informers::{names, recording_handler};
use crate::tap::Tap;

#[tokio::test]
async fn metadata_informer_requests_only_metadata() {
    let maps = ConfigMaps::named(["a"]).await;
    let (client, tap) = Tap::on(maps.server.client.clone());
    let accepted = std::sync::Arc::new(parking_lot::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&accepted);
    tap.proxy(move |_, request| {
        let accept = request
            .headers()
            .get("accept")
            .and_then(|value| value.to_str().ok());
        seen.lock().push(accept.unwrap_or_default().to_owned());
        None
    });
    let factory = SharedInformerFactory::builder(client)
        .namespace(&maps.server.namespace)
        .labels(OWN)
        .build();
    let typed = factory.metadata::<ConfigMap>();
    let dynamic = factory.dynamic_metadata(ApiResource::erase::<ConfigMap>(&()));
    let (handler, mut received) = recording_handler();
    dynamic.add_handler(handler).expect("a handler");
    started(&factory).await;
    assert_eq!(names(&typed.snapshot().sorted()), ["a"]);
    assert_eq!(received.word().await, "*a");
    maps.change("a", "2").await;
    assert_eq!(received.word().await, "~a");
    maps.delete("a").await;
    assert_eq!(received.word().await, "-a");
    let accepted = accepted.lock().clone();
    assert!(accepted.len() >= 2);
    assert!(
        accepted
            .iter()
            .all(|accept| accept.contains("as=PartialObjectMetadata")),
        "{accepted:?}"
    );
    stopped(&factory).await;
}

#[tokio::test]
async fn dynamic_informer_by_group_version_and_resource() {
    let maps = ConfigMaps::named(["a"]).await;
    let factory = SharedInformerFactory::builder(maps.server.client.clone())
        .namespace(&maps.server.namespace)
        .build();
    let gvr = |group, version, resource| GroupVersionResource::gvr(group, version, resource);
    let found = factory
        .for_resource(&gvr("", "v1", "configmaps"))
        .await
        .expect("the resource");
    let by_name = factory.dynamic(&factory.discover("cm").await.expect("the resource"));
    // A cluster-scoped resource, although the factory has a namespace.
    let namespaces = factory.dynamic(&factory.discover("ns").await.expect("the resource"));
    assert!(namespaces.resource().namespaces().is_empty());
    assert_eq!(factory.statuses().len(), 2, "both calls return one informer");
    started(&factory).await;
    let key = maps.key("a");
    assert_eq!(
        found.lister().get_key(&key).expect("the object").data["data"]["value"],
        "1"
    );
    assert!(by_name.lister().get_key(&key).is_ok());
    assert!(namespaces.lister().get(&maps.server.namespace).is_ok());

    let error = factory
        .for_resource(&gvr("apps", "v9", "deployments"))
        .await
        .expect_err("an unknown version");
    assert!(error.is_unknown_resource(), "{error}");
    let error = factory.discover("configmapz").await.expect_err("an unknown name");
    assert!(error.to_string().contains("configmaps"), "{error}");
    let error = factory
        .discover("tokenreviews")
        .await
        .expect_err("a kind without lists");
    assert!(error.is_not_watchable(), "{error}");
    stopped(&factory).await;
}

#[tokio::test]
async fn informer_works_without_a_factory() {
    let maps = ConfigMaps::named(["a"]).await;
    maps.create_labelled("b", "1", &[("tier", "front")]).await;
    let filtered = SharedInformer::<ConfigMap>::builder(maps.server.client.clone())
        .namespace(&maps.server.namespace)
        .labels("tier=front")
        .build();
    crate::informers::started(&filtered).await;
    assert_eq!(names(&filtered.snapshot().sorted()), ["b"]);
    crate::informers::stopped(&filtered).await;
}
