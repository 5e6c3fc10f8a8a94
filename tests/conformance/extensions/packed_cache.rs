//! Caches that keep encoded objects and decode them when they are read.

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{CacheFormat, SharedInformer};

use crate::config_maps::{ConfigMaps, OWN};
use crate::informers::{caught_up, event_word, soon, started, stopped};

fn informer(maps: &ConfigMaps, form: CacheFormat) -> SharedInformer<ConfigMap> {
    SharedInformer::<ConfigMap>::builder(maps.server.client.clone())
        .namespace(&maps.server.namespace)
        .labels(OWN)
        .cache_format(form)
        .index("value", |map: &ConfigMap| {
            crate::config_maps::value(map).len().checked_rem(10)
        })
        .build()
}

/// Returns all objects, sorted by name.
fn objects(informer: &SharedInformer<ConfigMap>) -> Vec<ConfigMap> {
    let objects = informer.snapshot().sorted();
    objects.iter().map(|object| ConfigMap::clone(object)).collect()
}

#[tokio::test]
async fn packed_cache_returns_the_same_objects_as_a_decoded_one() {
    let maps = ConfigMaps::named(["a", "b", "c"]).await;
    let (typed, packed) = (
        informer(&maps, CacheFormat::Decoded),
        informer(&maps, CacheFormat::Packed),
    );
    let mut events = packed.events().expect("a stream");
    started(&typed).await;
    started(&packed).await;
    assert_eq!(objects(&packed), objects(&typed));
    for _ in 0..3 {
        soon(events.next()).await.expect("no end");
    }

    maps.change("a", "2").await;
    let changed = soon(events.next()).await.expect("no end");
    assert_eq!(event_word(&changed), "~a");
    assert_eq!(crate::config_maps::value(changed.object()), "2");
    maps.delete("b").await;
    let version = maps.create("d", "0123456789").await;
    for informer in [&typed, &packed] {
        caught_up(informer, version.clone()).await;
    }
    assert_eq!(objects(&packed), objects(&typed));
    let by_length = |informer: &SharedInformer<ConfigMap>| {
        let index = informer.find_index::<usize>("value").expect("the index");
        [index.get(&0).len(), index.get(&1).len()]
    };
    assert_eq!(by_length(&packed), by_length(&typed));
    stopped(&typed).await;
    stopped(&packed).await;
}

#[tokio::test]
async fn packed_cache_uses_fewer_bytes_than_it_received() {
    let maps = ConfigMaps::named([]).await;
    let text = "objects of one kind have much in common, line after line\n".repeat(50);
    for number in 0..40 {
        maps.create(&format!("map-{number}"), &format!("{number}\n{text}"))
            .await;
    }
    let packed = informer(&maps, CacheFormat::Packed);
    started(&packed).await;
    assert_eq!(packed.status().objects, 40);
    // Objects are compressed in the background after the list.
    let kept = async {
        loop {
            let status = packed.status();
            if status.bytes * 4 < status.received_bytes {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    soon(kept).await;
    assert_eq!(objects(&packed).len(), 40);
    stopped(&packed).await;
}
