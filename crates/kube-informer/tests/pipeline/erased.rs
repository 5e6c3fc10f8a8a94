//! Informers of any object type.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, DeleteParams};
use kube_embedded::Server;
use kube_informer::erased::{AnyEvent, AnyInformer};
use kube_informer::{CacheFormat, HandlerOptions, Key, SharedInformer, SharedInformerFactory};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn erased_informers_read_caches_of_every_format() {
    for format in [CacheFormat::Decoded, CacheFormat::Packed] {
        let server = Server::start().await.expect("a server");
        server
            .load(["web", "log"].map(|name| {
                json!({
                    "apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": { "namespace": "default", "name": name, "labels": { "app": name } },
                })
            }))
            .expect("objects");
        let factory = SharedInformerFactory::builder(server.client().expect("a client"))
            .cache_format(format)
            .build();
        let maps = factory.informer::<ConfigMap>();
        maps.index("app", |map: &ConfigMap| {
            map.metadata
                .labels
                .as_ref()
                .and_then(|labels| labels.get("app").cloned())
        })
        .expect("an index");
        factory.start();
        factory.wait_for_sync(PATIENCE).await.expect("a list");

        let informers = factory.informers();
        let [informer] = informers.as_slice() else {
            panic!("{informers:?}")
        };
        assert_eq!(informer.resource(), maps.resource());
        assert_eq!(informer.status().objects, maps.snapshot().len());
        let key = Key::namespaced("default", "web");
        let web = informer.get(&key).expect("an object");
        assert_eq!((web.key(), web.is_terminating()), (&key, false));
        assert_eq!(web.version(), maps.snapshot().get(&key).expect("it").version());
        assert_eq!(web.metadata().name.as_deref(), Some("web"));
        assert!(web.matches(&"app=web".parse().expect("a selector")));
        assert!(!web.matches(&"app=log".parse().expect("a selector")));
        assert!(informer.list("default").len() >= 2);
        assert!(informer.list("none").is_empty());
        assert_eq!(informer.index_names(), ["app"]);
        assert_eq!(informer.index_values("app").expect("values"), ["log", "web"]);
        let found = informer.by_index("app", "web").expect("an index");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].key(), &key);
        let error = informer.by_index("none", "web").expect_err("no index");
        assert!(error.is_unknown_index(), "{error}");

        let typed = web.downcast::<ConfigMap>().expect("a config map");
        assert_eq!(typed.metadata.name.as_deref(), Some("web"));
        assert!(web.downcast::<Secret>().is_none());
        factory.shutdown().await;
    }
}

#[tokio::test]
async fn erased_informers_are_equal_if_they_are_the_same_informer() {
    let server = Server::start().await.expect("a server");
    let client = server.client().expect("a client");
    let factory = SharedInformerFactory::new(client.clone());
    let maps = factory.informer::<ConfigMap>();
    let others = SharedInformer::<ConfigMap>::builder(client).build();
    assert_eq!(AnyInformer::from(&maps), AnyInformer::from(&maps.clone()));
    assert_eq!(factory.informers(), [AnyInformer::from(&maps)]);
    assert_ne!(AnyInformer::from(&maps), AnyInformer::from(&others));
    let typed = factory.informers()[0].downcast::<ConfigMap>();
    assert_eq!(
        typed.as_ref().map(AnyInformer::from),
        Some(AnyInformer::from(&maps))
    );
    assert!(factory.informers()[0].downcast::<Secret>().is_none());
}

#[tokio::test]
async fn erased_handlers_get_every_kind_of_event() {
    let server = Server::start().await.expect("a server");
    let object = |value: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "namespace": "default", "name": "web" }, "data": { "a": value },
        })
    };
    let client = server.client().expect("a client");
    let maps = SharedInformer::<ConfigMap>::builder(client.clone())
        .namespace("default")
        .build();
    let (sender, mut events) = mpsc::unbounded_channel();
    let handler = move |event| {
        // The test may have ended.
        let _closed = sender.send(event);
    };
    let registration = AnyInformer::from(&maps)
        .add_handler_with(handler, HandlerOptions::new().name("erased"))
        .expect("a handler");
    assert_eq!(registration.name(), "erased");
    maps.start().expect("a start");
    maps.wait_for_sync(PATIENCE).await.expect("a list");
    server.load([object("1")]).expect("an object");

    let mut next = async || loop {
        let event: AnyEvent = timeout(PATIENCE, events.recv())
            .await
            .expect("an event in time")
            .expect("an event");
        assert!(!event.is_resync(), "{event:?}");
        let (AnyEvent::Added { object, .. }
        | AnyEvent::Updated { new: object, .. }
        | AnyEvent::Deleted { last_state: object }) = &event;
        if object.key().name() == "web" {
            return event;
        }
    };
    let added = next().await;
    assert!(
        matches!(
            added,
            AnyEvent::Added {
                is_in_initial_list: false,
                ..
            }
        ),
        "{added:?}"
    );
    server.load([object("2")]).expect("a change");
    match next().await {
        AnyEvent::Updated { old, new } => assert_ne!(old.version(), new.version()),
        other => panic!("{other:?}"),
    }
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    api.delete("web", &DeleteParams::default())
        .await
        .expect("a deletion");
    let deleted = next().await;
    assert!(matches!(deleted, AnyEvent::Deleted { .. }), "{deleted:?}");
    maps.shutdown().await;
}
