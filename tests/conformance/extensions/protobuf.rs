//! Built-in kinds are transferred as protobuf, by the content type of the responses.

use std::sync::Arc;

use http::Request;
use http::header::CONTENT_TYPE;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::DynamicObject;
use kube::client::Body;
use kube::core::ApiResource;
use kube_informer::{Kind, SharedInformer, source::WireFormat};

use parking_lot::Mutex;

use crate::config_maps::{ConfigMaps, OWN};
use crate::informers::{caught_up, started, stopped};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const JSON: &str = "application/json";

/// The content types of the responses to a client.
#[derive(Clone, Default)]
struct ContentTypes(Arc<Mutex<Vec<String>>>);

impl ContentTypes {
    fn through(client: Client) -> (Client, ContentTypes) {
        let types = ContentTypes::default();
        let seen = types.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (client, seen) = (client.clone(), seen.clone());
            async move {
                let answer = client.send(request).await?;
                let content_type = answer.headers().get(CONTENT_TYPE);
                let content_type = content_type.and_then(|value| value.to_str().ok());
                seen.all().push(content_type.unwrap_or_default().to_owned());
                Ok::<_, kube::Error>(answer)
            }
        });
        (Client::new(service, "default"), types)
    }

    fn all(&self) -> parking_lot::MutexGuard<'_, Vec<String>> {
        self.0.lock()
    }
}

/// Lists and watches ConfigMaps as a `K`, and returns the content types of the responses.
async fn content_types<K: Kind>(
    maps: &ConfigMaps,
    kind: K::DynamicType,
    wire: WireFormat,
    streaming: bool,
) -> Vec<String> {
    let (client, types) = ContentTypes::through(maps.server.client.clone());
    let informer = SharedInformer::<K>::builder_with(client, kind)
        .namespace(&maps.server.namespace)
        .labels(OWN)
        .wire_format(wire)
        .streaming_list(streaming)
        .build();
    started(&informer).await;
    let changed = maps.change("a", &format!("{wire:?} {streaming}")).await;
    caught_up(&informer, changed).await;
    let cached = informer.lister().get_key(&maps.key("a")).expect("the object");
    let cached = serde_json::to_value(cached.meta()).expect("metadata");
    let mut there = maps.api.get("a").await.expect("the object").metadata;
    there.managed_fields = None;
    assert_eq!(cached, serde_json::to_value(there).expect("metadata"));
    stopped(&informer).await;
    let types = types.all().clone();
    assert_eq!(types.len(), if streaming { 1 } else { 2 }, "{types:?}");
    types
}

#[tokio::test]
async fn built_in_kinds_are_listed_and_watched_as_protobuf() {
    let maps = ConfigMaps::named(["a"]).await;
    for streaming in [true, false] {
        let types = content_types::<ConfigMap>(&maps, (), WireFormat::Protobuf, streaming).await;
        assert!(types.iter().all(|found| found.starts_with(PROTOBUF)), "{types:?}");
    }
}

#[tokio::test]
async fn json_is_used_on_request_and_for_dynamic_objects() {
    let maps = ConfigMaps::named(["a"]).await;
    for streaming in [true, false] {
        let types = content_types::<ConfigMap>(&maps, (), WireFormat::Json, streaming).await;
        assert!(types.iter().all(|found| found.starts_with(JSON)), "{types:?}");
        let kind = ApiResource::erase::<ConfigMap>(&());
        let types = content_types::<DynamicObject>(&maps, kind, WireFormat::Protobuf, streaming).await;
        assert!(types.iter().all(|found| found.starts_with(JSON)), "{types:?}");
    }
}
