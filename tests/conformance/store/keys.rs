//! Keys.

use conformance::TestServer;
use k8s_openapi::api::core::v1::Namespace;
use kube_informer::{Event, Key, SharedInformer};

use crate::config_maps::ConfigMaps;
use crate::informers::{caught_up, recording_handler, started, stopped};

#[tokio::test]
async fn key_of_a_namespaced_object_has_namespace_and_name() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    let event = received.next().await;
    let printed = event.key().to_string();
    assert_eq!(printed, format!("{}/a", maps.server.namespace));
    // After formatting and parsing, the key still finds the object.
    let parsed: Key = printed.parse().expect("a key");
    assert_eq!(&parsed, event.key());
    assert_eq!(
        (parsed.namespace(), parsed.name()),
        (Some(maps.server.namespace.as_str()), "a")
    );
    assert!(informer.lister().get_key(&parsed).is_ok());
    assert!(
        "a/b/c"
            .parse::<Key>()
            .is_err_and(|error| error.to_string().contains("a/b/c"))
    );
    stopped(&informer).await;
}

#[tokio::test]
async fn key_of_a_cluster_scoped_object_is_its_name() {
    let server = TestServer::start().await;
    let informer = SharedInformer::<Namespace>::builder(server.client.clone())
        .fields(format!("metadata.name={}", server.namespace))
        .build();
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    let event = received.next().await;
    assert_eq!(event.key().to_string(), server.namespace);
    assert_eq!(event.key(), &Key::cluster(&server.namespace));
    assert_eq!(event.key().namespace(), None);
    let parsed: Key = server.namespace.parse().expect("a key");
    assert!(informer.lister().get_key(&parsed).is_ok());
    stopped(&informer).await;
}

#[tokio::test]
async fn deleted_object_keeps_its_key() {
    let maps = ConfigMaps::named(["seen", "unseen"]).await;
    let (builder, gate) = maps.gated();
    let informer = builder.build();
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    received.listed(2).await;
    maps.delete("seen").await;
    let Event::Deleted(deleted) = received.next().await else {
        panic!("no deletion");
    };
    assert_eq!(deleted.key(), &maps.key("seen"));
    gate.close();
    maps.delete("unseen").await;
    let version = maps.create("end", "1").await;
    maps.open(&gate).await;
    caught_up(&informer, version).await;
    let Event::Deleted(deleted) = received.next().await else {
        panic!("no deletion");
    };
    assert!(deleted.is_final_state_unknown());
    assert_eq!(deleted.key(), &maps.key("unseen"));
    stopped(&informer).await;
}
