//! Objects whose kind is known only at run time.

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::{ApiResource, DynamicObject};
use kube_informer::{
    CacheFormat, Error, SharedInformer,
    source::{
        ListPart, ListRequest, ListStream, ListWatch, RawObject, WatchEvent, WatchRequest, WatchStream,
    },
};
use serde_json::{Value, json};

use crate::recording::LONG;

/// One listed object, and one that is added by the watch.
struct TwoObjects {
    listed: Value,
    watched: Value,
}

impl ListWatch<DynamicObject> for TwoObjects {
    fn list(&self, _: ListRequest) -> BoxFuture<'_, Result<ListStream<DynamicObject>, Error>> {
        let end = ListPart::End {
            version: "1".into(),
            continue_token: None,
        };
        let parts = [
            RawObject::json(self.listed.to_string()).map(ListPart::Object),
            Ok(end),
        ];
        async { Ok(stream::iter(parts).boxed()) }.boxed()
    }

    fn watch(&self, _: WatchRequest) -> BoxFuture<'_, Result<WatchStream<DynamicObject>, Error>> {
        let added = RawObject::json(self.watched.to_string()).map(WatchEvent::Added);
        async { Ok(stream::iter([added]).chain(stream::pending()).boxed()) }.boxed()
    }
}

fn object(name: &str, version: &str, types: &Value) -> Value {
    let mut object = json!({
        "metadata": { "name": name, "namespace": "shop", "uid": name, "resourceVersion": version },
        "data": { "kind": name },
    });
    for (name, value) in types.as_object().expect("fields") {
        object[name] = value.clone();
    }
    object
}

/// Items of lists omit their type, and objects of watches include it.
#[tokio::test(start_paused = true)]
async fn dynamic_objects_have_their_type_from_lists_and_watches() {
    for types in [
        json!({}),
        json!({ "apiVersion": null, "kind": null }),
        json!({ "kind": "ConfigMap" }),
        json!({ "apiVersion": "v1" }),
    ] {
        for form in [CacheFormat::Decoded, CacheFormat::Packed] {
            let source = TwoObjects {
                listed: object("listed", "1", &types),
                watched: object(
                    "watched",
                    "2",
                    &json!({ "apiVersion": "v1", "kind": "ConfigMap" }),
                ),
            };
            let kind = ApiResource::erase::<ConfigMap>(&());
            let informer = SharedInformer::builder_from(source, kind)
                .streaming_list(false)
                .cache_format(form)
                .seed(1)
                .build();
            let mut events = informer.events().unwrap();
            informer.start().unwrap();
            for (name, version) in [("listed", "1"), ("watched", "2")] {
                let event = tokio::time::timeout(LONG, events.next()).await;
                let event = event.expect("an event in time").expect("an event");
                let whole = serde_json::to_value(&*event.object().to_arc()).unwrap();
                let expected = object(name, version, &json!({ "apiVersion": "v1", "kind": "ConfigMap" }));
                assert_eq!(whole, expected, "{form:?} {types}");
            }
            informer.shutdown().await;
        }
    }
}
