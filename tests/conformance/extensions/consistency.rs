//! Consistency checks: compare the cache with the server, on request or periodically.

use std::time::Duration;

use conformance::TestServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube_informer::SharedInformer;

use crate::config_maps::config_map;
use crate::informers::with_requested_formats;
use crate::observed_informer::ObservedInformer;

#[tokio::test]
async fn cache_equals_the_server() {
    for streaming in [true, false] {
        let server = TestServer::start().await;
        let observed = ObservedInformer::on(&server, |informer| {
            informer.streaming_list(streaming).page_size(2)
        });
        for name in ["a", "b", "c", "d", "e"] {
            observed.create(name).await;
        }
        observed.start().await;
        observed.change("a", "2").await;
        observed.delete("b").await;
        observed.catches_up().await;
        let found = observed.informer.check_consistency().await.expect("a comparison");
        assert!(found.is_consistent(), "{found}");
        assert_eq!(found.objects, observed.cached().len());
        assert_eq!(Some(found.version), observed.informer.resource_version());
        let status = observed.informer.status();
        assert_eq!(
            (status.checks, status.unchecked, status.inconsistencies),
            (1, 0, 0)
        );
        let pages = observed.tap.all();
        let pages = pages.iter().filter(|asked| asked.parameter("limit") == Some("2"));
        assert!(pages.count() >= 3, "{:?}", observed.tap.words());
        observed.informer.shutdown().await;
    }
}

/// Concurrent writes cause no difference: cache and server are compared at the same version.
#[tokio::test]
async fn concurrent_writes_cause_no_difference() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer.page_size(1));
    for name in ["a", "b", "c", "d"] {
        observed.create(name).await;
    }
    observed.start().await;
    let writing = async {
        observed.delete("a").await;
        for value in ["2", "3", "4"] {
            observed.change("b", value).await;
            observed.create(&format!("new-{value}")).await;
        }
    };
    let checking = async {
        for _ in 0..3 {
            let found = observed.informer.check_consistency().await.expect("a comparison");
            assert!(found.is_consistent(), "{found}");
        }
    };
    futures::join!(writing, checking);
    observed.informer.shutdown().await;
}

#[tokio::test]
async fn only_selected_objects_are_compared() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer.labels("colour=red"));
    for (name, colour) in [("a", "red"), ("b", "red"), ("c", "blue"), ("d", "red")] {
        let mut map = config_map(name, "1");
        map.metadata.labels = Some([("colour".to_owned(), colour.to_owned())].into());
        observed
            .api
            .create(&PostParams::default(), &map)
            .await
            .expect("an object");
    }
    observed.start().await;
    let found = observed.informer.check_consistency().await.expect("a comparison");
    assert!(found.is_consistent(), "{found}");
    assert_eq!(found.objects, 3);
    observed.informer.shutdown().await;
}

/// Each namespace has its own version, and is compared at that version.
#[tokio::test]
async fn namespaces_are_compared_each_at_its_version() {
    let server = TestServer::start().await;
    let here = server.namespace.clone();
    let maps = with_requested_formats(SharedInformer::<ConfigMap>::builder(server.client.clone()))
        .namespaces([here.as_str(), "kube-system"])
        .build();
    maps.start().expect("a first start");
    maps.wait_for_sync(Duration::from_mins(1)).await.expect("a list");
    let api: Api<ConfigMap> = Api::namespaced(server.client.clone(), &here);
    for name in ["a", "b"] {
        let made = api.create(&PostParams::default(), &config_map(name, "1")).await;
        let made = made.expect("an object");
        maps.wait_for_write(&made, Duration::from_mins(1))
            .await
            .expect("the write");
    }
    let found = maps.check_consistency().await.expect("a comparison");
    assert!(found.is_consistent(), "{found}");
    assert_eq!(found.objects, maps.snapshot().len());
    maps.shutdown().await;
}
