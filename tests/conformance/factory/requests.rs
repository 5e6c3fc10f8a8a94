//! Customised requests of a factory's informers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::SharedInformerFactory;
use kube_informer::source::ApiListWatch;

use super::{factory, started, stopped};
use crate::config_maps::{ConfigMaps, OWN};
use crate::informers::{PATIENCE, names};
use crate::tap::Tap;

#[tokio::test]
async fn a_function_changes_the_parameters_of_every_request() {
    let maps = ConfigMaps::named(["a"]).await;
    maps.create_labelled("b", "1", &[("tier", "front")]).await;
    let (client, tap) = Tap::on(maps.server.client.clone());
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let factory = SharedInformerFactory::builder(client)
        .namespace(&maps.server.namespace)
        .streaming_list(false)
        .tweak_requests(move |parameters| {
            counted.fetch_add(1, Ordering::SeqCst);
            parameters.labels("tier=front");
        })
        .build();
    let informer = factory.informer::<ConfigMap>();
    started(&factory).await;
    tap.wait_for(2, PATIENCE).await;
    assert_eq!(names(&informer.snapshot().sorted()), ["b"]);
    for asked in &tap.all()[..2] {
        assert_eq!(asked.parameter("labelSelector"), Some("tier%3Dfront"));
    }
    assert!(requests.load(Ordering::SeqCst) >= 2);
    stopped(&factory).await;
}

#[tokio::test]
async fn unpaged_lists_have_no_limit() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    let (client, tap) = Tap::on(maps.server.client.clone());
    let factory = SharedInformerFactory::builder(client)
        .namespace(&maps.server.namespace)
        .labels(OWN)
        .streaming_list(false)
        .unpaged_lists()
        .build();
    let informer = factory.informer::<ConfigMap>();
    started(&factory).await;
    assert_eq!(names(&informer.snapshot().sorted()), ["a", "b"]);
    let list = &tap.all()[0];
    assert!(list.is_list());
    assert_eq!(list.parameter("limit"), None);
    stopped(&factory).await;
}

#[tokio::test]
async fn an_informer_with_a_source_of_its_own_joins_a_factory() {
    let maps = ConfigMaps::named(["a"]).await;
    let (client, tap) = Tap::on(maps.server.client.clone());
    let factory = factory(&maps).build();
    let source =
        || ApiListWatch::<ConfigMap>::new(client.clone(), &(), Some(&maps.server.namespace)).labels(OWN);
    let informer = factory
        .informer_from(source(), ())
        .expect("the first of its kind");
    let error = factory
        .informer_from(source(), ())
        .expect_err("the second of its kind");
    assert!(error.is_conflict(), "{error}");
    let by_value = informer
        .index("value", |map: &ConfigMap| {
            map.data.as_ref().and_then(|data| data.get("value").cloned())
        })
        .expect("an index");

    let same = factory.informer::<ConfigMap>();
    same.find_index::<String>("value").expect("the same informer");
    started(&factory).await;
    assert_eq!(names(&same.snapshot().sorted()), ["a"]);
    assert_eq!(by_value.values().len(), 1);
    assert!(!tap.all().is_empty(), "the custom source sends the requests");
    stopped(&factory).await;
}
