//! One informer per kind and object type, for any number of requests.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use kube_informer::SharedInformerFactory;

use super::{factory, started, stopped};
use crate::config_maps::{ConfigMaps, OWN};
use crate::informers::recording_handler;
use crate::tap::Tap;

#[tokio::test]
async fn two_requests_for_one_kind_open_one_watch() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    let (client, tap) = Tap::on(maps.server.client.clone());
    let factory = SharedInformerFactory::builder(client)
        .namespace(&maps.server.namespace)
        .labels(OWN)
        .build();
    let (one, mut first) = recording_handler();
    let (two, mut second) = recording_handler();
    factory
        .informer::<ConfigMap>()
        .add_handler(one)
        .expect("a handler");
    let clone = factory.clone();
    clone.informer::<ConfigMap>().add_handler(two).expect("a handler");
    started(&factory).await;
    assert_eq!(first.listed(2).await, ["*a", "*b"]);
    assert_eq!(second.listed(2).await, ["*a", "*b"]);

    // The same for a running informer.
    let late = factory.informer::<ConfigMap>();
    started(&factory).await;
    assert_eq!(late.lister().len(), 2);
    maps.create("c", "1").await;
    assert_eq!(
        (first.word().await, second.word().await),
        ("+c".into(), "+c".into())
    );
    assert_eq!(tap.words(), ["stream newest"], "one request serves them all");
    stopped(&factory).await;
}

#[tokio::test]
async fn threads_share_one_informer() {
    let maps = ConfigMaps::named([]).await;
    let factory = factory(&maps).build();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let factory = factory.clone();
            std::thread::spawn(move || factory.informer::<ConfigMap>())
        })
        .collect();
    let informers: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().expect("an informer"))
        .collect();
    for informer in &informers {
        // The handler is visible through both if they are the same informer.
        informer.add_handler(|_| {}).expect("a handler");
    }
    assert!(
        informers
            .iter()
            .all(|informer| informer.registrations().len() == 8)
    );
    assert_eq!(factory.statuses().len(), 1);
}

#[tokio::test]
async fn each_kind_and_object_type_has_its_own_informer() {
    let maps = ConfigMaps::named(["a"]).await;
    let factory = factory(&maps).name("conformance").build();
    let resource = ApiResource::erase::<ConfigMap>(&());
    let typed = factory.informer::<ConfigMap>();
    let dynamic = factory.dynamic(&resource);
    let metadata = factory.metadata::<ConfigMap>();
    let dynamic_metadata = factory.dynamic_metadata(&resource);
    let secrets = factory.informer::<Secret>();
    assert_eq!(factory.statuses().len(), 5);
    let again = factory.informer_with::<DynamicObject>(resource);
    let meta_again = factory.informer::<PartialObjectMeta<ConfigMap>>();
    assert_eq!(factory.statuses().len(), 5);

    started(&factory).await;
    let key = maps.key("a");
    assert!(typed.lister().get_key(&key).expect("the object").data.is_some());
    let object = dynamic.lister().get_key(&key).expect("the object");
    assert_eq!(object.data["data"]["value"], "1");
    assert_eq!(metadata.lister().len(), 1);
    assert_eq!(dynamic_metadata.lister().len(), 1);
    assert!(secrets.lister().is_empty());
    assert_eq!((again.lister().len(), meta_again.lister().len()), (1, 1));
    assert_eq!(factory.name(), "conformance");
    let shown = format!("{factory:?}");
    assert!(
        shown.contains("conformance") && shown.contains("configmaps in namespace"),
        "{shown}"
    );
    stopped(&factory).await;
}

#[tokio::test]
async fn group_and_version_lead_to_the_same_informer() {
    let maps = ConfigMaps::named(["a"]).await;
    let factory = factory(&maps).build();
    let config_maps = factory.core().v1().config_maps();
    let lister = config_maps.lister();
    let (handler, mut received) = recording_handler();
    factory
        .informer::<ConfigMap>()
        .add_handler(handler)
        .expect("a handler");
    assert_eq!(config_maps.informer().registrations().len(), 1);
    // Kinds of several groups, each served and watched once.
    let _informers = (
        factory.apps().v1().stateful_sets().informer(),
        factory.batch().v1().cron_jobs().informer(),
        factory.networking().v1().network_policies().informer(),
        factory.rbac().v1().cluster_roles().informer(),
        factory.storage().v1().storage_classes().informer(),
        factory
            .apiextensions()
            .v1()
            .custom_resource_definitions()
            .informer(),
    );
    assert_eq!(factory.statuses().len(), 7);
    started(&factory).await;
    assert_eq!(received.word().await, "*a");
    assert!(lister.get_key(&maps.key("a")).is_ok());
    stopped(&factory).await;
}
