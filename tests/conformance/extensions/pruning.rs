//! Fields that are dropped while objects are decoded, in every cache format and wire format.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{CacheFormat, FieldMask, InformerBuilder, SharedInformer, source::WireFormat};

use crate::config_maps::{ConfigMaps, OWN};
use crate::informers::{caught_up, recording_handler, started, stopped};

const FORMATS: [(CacheFormat, WireFormat); 4] = [
    (CacheFormat::Decoded, WireFormat::Protobuf),
    (CacheFormat::Decoded, WireFormat::Json),
    (CacheFormat::Packed, WireFormat::Protobuf),
    (CacheFormat::Packed, WireFormat::Json),
];

/// Runs an informer of a ConfigMap in all formats, with a streaming list and with lists. Compares the handler's
/// objects and the cache with the server's state, before and after a change.
async fn in_all_formats(
    choose: impl Fn(InformerBuilder<ConfigMap>) -> InformerBuilder<ConfigMap>,
    compare: impl Fn(&ConfigMap, &ConfigMap),
) {
    let maps = ConfigMaps::named(["a"]).await;
    for (form, wire) in FORMATS {
        for streaming in [true, false] {
            let builder = SharedInformer::<ConfigMap>::builder(maps.server.client.clone())
                .namespace(&maps.server.namespace)
                .labels(OWN)
                .streaming_list(streaming);
            let informer = choose(builder).cache_format(form).wire_format(wire).build();
            let (handler, mut received) = recording_handler();
            informer.add_handler(handler).expect("a handler");
            started(&informer).await;
            for value in ["listed", "watched"] {
                if value == "watched" {
                    let changed = format!("{form:?} {wire:?} {streaming}");
                    caught_up(&informer, maps.change("a", &changed).await).await;
                }
                let there = maps.api.get("a").await.expect("the object");
                assert!(
                    there
                        .metadata
                        .managed_fields
                        .as_ref()
                        .is_some_and(|fields| !fields.is_empty()),
                    "the server has them"
                );
                compare(received.next().await.object(), &there);
                let cached = informer.lister().get_key(&maps.key("a")).expect("the object");
                compare(&cached, &there);
            }
            stopped(&informer).await;
        }
    }
}

#[tokio::test]
async fn managed_fields_are_dropped_by_default() {
    in_all_formats(
        |informer| informer,
        |cached, there| {
            let mut there = there.clone();
            there.metadata.managed_fields = None;
            assert_eq!(*cached, there, "no other field is pruned");
        },
    )
    .await;
}

#[tokio::test]
async fn managed_fields_are_kept_on_request() {
    in_all_formats(InformerBuilder::keep_managed_fields, |cached, there| {
        assert_eq!(cached, there);
    })
    .await;
}

#[tokio::test]
async fn fields_are_pruned_by_path() {
    let fields = FieldMask::none()
        .path("data")
        .and_then(|fields| fields.path("metadata.labels[kept-by]"))
        .expect("paths");
    in_all_formats(
        |informer| informer.prune(&fields),
        |cached, there| {
            assert!(
                there.data.is_some() && there.metadata.labels.is_some(),
                "the server has them"
            );
            assert_eq!(cached.data, None);
            let labels = cached.metadata.labels.iter().flatten();
            assert_eq!(labels.count(), 0, "the only label is pruned");
            assert_eq!(cached.metadata.name, there.metadata.name);
            assert_eq!(cached.metadata.uid, there.metadata.uid);
            assert_eq!(cached.metadata.resource_version, there.metadata.resource_version);
        },
    )
    .await;
}
