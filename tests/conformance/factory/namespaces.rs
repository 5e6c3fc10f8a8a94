//! Several namespaces, one informer per kind, one cache.

use conformance::chaos::Proxy;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube::{Client, ResourceExt};
use kube_informer::{Selector, SharedInformer, SharedInformerFactory};

use super::{SHORTLY, started, stopped};
use crate::config_maps::{ConfigMaps, OWN};
use crate::informers::{PATIENCE, SHORT_BACKOFF, names, recording_handler, soon};
use crate::tap::{Tap, answer};

/// Returns ConfigMaps in two namespaces of one server.
async fn two() -> (ConfigMaps, ConfigMaps) {
    let one = ConfigMaps::named(["a", "b"]).await;
    let own = &one.server.namespace;
    let name = format!("two-{}", &own[own.len().saturating_sub(50)..]);
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    let namespaces: Api<Namespace> = Api::all(one.server.client.clone());
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .expect("a namespace");
    let other = one.in_namespace(&name);
    other.create("a", "1").await;
    other.create("z", "1").await;
    (one, other)
}

fn factory(one: &ConfigMaps, other: &ConfigMaps, client: Client) -> SharedInformerFactory {
    SharedInformerFactory::builder(client)
        .namespaces([&other.server.namespace, &one.server.namespace])
        .labels(OWN)
        .backoff(SHORT_BACKOFF)
        .build()
}

#[tokio::test]
async fn several_namespaces_share_one_cache() {
    let (one, other) = two().await;
    let elsewhere = ConfigMaps::named(["no"]).await;
    let factory = factory(&one, &other, one.server.client.clone());
    let informer = factory.informer::<ConfigMap>();
    let nodes = factory.informer::<k8s_openapi::api::core::v1::Namespace>();
    let by_name = informer
        .index("name", |map: &ConfigMap| [map.name_any()])
        .expect("an index");
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    assert!(
        nodes.resource().namespaces().is_empty(),
        "cluster-scoped kinds have no namespace"
    );
    factory.start();
    informer.wait_for_sync(PATIENCE).await.expect("a sync");
    assert_eq!(received.listed(4).await, ["*a", "*a", "*b", "*z"]);
    assert_eq!(by_name.get("a").len(), 2);

    let lister = informer.lister();
    assert_eq!(
        names(
            &lister
                .namespace(&one.server.namespace)
                .list(&Selector::everything())
        ),
        ["a", "b"]
    );
    assert_eq!(
        names(
            &lister
                .namespace(&other.server.namespace)
                .list(&Selector::everything())
        ),
        ["a", "z"]
    );
    assert!(lister.namespace(&elsewhere.server.namespace).get("no").is_err());
    assert!(
        informer.resource().to_string().contains(" in namespaces "),
        "{}",
        informer.resource()
    );

    // Reads one's own writes in each namespace, independent of the other one.
    for (maps, name) in [(&one, "c"), (&other, "y")] {
        maps.create(name, "1").await;
        let made = maps.api.get(name).await.expect("an object");
        informer.wait_for_write(&made, PATIENCE).await.expect("the write");
        assert!(lister.get_key(&maps.key(name)).is_ok());
        assert_eq!(received.word().await, format!("+{name}"));
    }
    other.delete("a").await;
    assert_eq!(received.word().await, "-a");
    assert_eq!(names(&by_name.get("a")), ["a"]);
    assert_eq!(informer.lister().len(), 5);
    stopped(&factory).await;
}

#[tokio::test]
async fn listing_one_namespace_keeps_the_others() {
    let (one, other) = two().await;
    let mut config = one.server.config().await;
    config.default_retry = false;
    let proxy = Proxy::before(&mut config).await.expect("a proxy");
    let (client, tap) = Tap::on(Client::try_from(config).expect("a client"));
    let factory = factory(&one, &other, client);
    let informer = factory.informer::<ConfigMap>();
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&factory).await;
    received.listed(4).await;
    // The watches end, and one of the namespaces is forced to relist.
    let expired = r#"{"kind":"Status","status":"Failure","code":410,"reason":"Expired","message":"too old"}"#;
    let namespace = other.server.namespace.clone();
    let asked = tap.all().len();
    tap.proxy(move |asked, request| {
        let here = request.uri().path().contains(&format!("/{namespace}/"));
        (here && asked.is_plain_watch()).then(|| answer(410, "application/json", expired))
    });
    proxy.cut();
    tap.wait_for(asked + 3, PATIENCE).await;
    other
        .api
        .delete("z", &DeleteParams::default())
        .await
        .expect("an object");
    one.create("c", "1").await;
    let mut words = received.listed(2).await;
    words.retain(|word| word != "?z" && word != "-z");
    assert_eq!(words, ["+c"], "no object of the first namespace was deleted");
    assert_eq!(informer.lister().len(), 4);
    stopped(&factory).await;
}

#[tokio::test]
async fn nothing_is_visible_until_every_namespace_is_listed() {
    let (one, other) = two().await;
    let (client, tap) = Tap::on(one.server.client.clone());
    let namespace = other.server.namespace.clone();
    let forbidden =
        r#"{"kind":"Status","status":"Failure","code":403,"reason":"Forbidden","message":"not there"}"#;
    tap.proxy(move |_, request| {
        let here = request.uri().path().contains(&format!("/{namespace}/"));
        here.then(|| answer(403, "application/json", forbidden))
    });
    let informer = SharedInformer::<ConfigMap>::builder(client)
        .namespaces([&one.server.namespace, &other.server.namespace])
        .labels(OWN)
        .build();
    let by_name = informer
        .index("name", |map: &ConfigMap| [map.name_any()])
        .expect("an index");
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    informer.start().expect("a start");
    let error = informer
        .wait_for_sync(SHORTLY)
        .await
        .expect_err("one is forbidden");
    let words = format!("{error:#}");
    assert!(error.is_forbidden(), "{words}");
    assert!(
        words.contains(&format!("configmaps in namespace {}", other.server.namespace)),
        "{words}"
    );
    assert!(
        informer.lister().is_empty() && by_name.get("a").is_empty(),
        "a cache is not synced if a namespace is missing"
    );
    let late = informer
        .index("late", |map: &ConfigMap| [map.name_any()])
        .expect("an index");
    assert!(late.get("a").is_empty());
    assert!(received.rest().is_empty());
    let written = one.api.get("a").await.expect("an object");
    let waited = informer.wait_for_write(&written, SHORTLY).await;
    assert!(
        waited.is_err_and(|error| error.is_timeout()),
        "a forbidden namespace does not reach a version"
    );

    tap.proxy(|_, _| None);
    soon(informer.wait_for_write(&written, PATIENCE))
        .await
        .expect("the write");
    let namespace = &one.server.namespace;
    assert!(informer.lister().namespace(namespace).get("a").is_ok());
    soon(informer.synced()).await.expect("a sync");
    assert_eq!(received.listed(4).await, ["*a", "*a", "*b", "*z"]);
    assert_eq!((by_name.get("a").len(), late.get("a").len()), (2, 2));
    soon(informer.shutdown()).await;
}
