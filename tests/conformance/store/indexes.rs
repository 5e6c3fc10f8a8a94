//! Reads by key, by namespace, and by named and typed indexes.

use std::fmt;

use conformance::TestServer;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, ObjectMeta, PostParams};
use kube_informer::{Key, SharedInformer};

use crate::config_maps::{ConfigMaps, value, version_of};
use crate::informers::{caught_up, names, sorted, started, stopped};

/// Returns the words of a map's value.
fn words(map: &ConfigMap) -> Vec<String> {
    value(map).split(' ').map(str::to_owned).collect()
}

#[tokio::test]
async fn objects_are_found_by_key_and_by_namespace() {
    let server = TestServer::start().await;
    let (near, far) = (server.namespace.clone(), format!("{}-far", server.namespace));
    let made = Namespace {
        metadata: ObjectMeta {
            name: Some(far.clone()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    let namespaces = Api::<Namespace>::all(server.client.clone());
    let made = namespaces.create(&PostParams::default(), &made).await;
    made.expect("a namespace");
    let informer = SharedInformer::<ConfigMap>::builder(server.client.clone())
        .labels(format!("of={near}"))
        .build();
    started(&informer).await;
    let mut last = None;
    for (namespace, name) in [(&near, "x"), (&near, "y"), (&far, "x")] {
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.into()),
                labels: Some([("of".to_owned(), near.clone())].into()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        let api: Api<ConfigMap> = Api::namespaced(server.client.clone(), namespace);
        let made = api.create(&PostParams::default(), &map).await.expect("an object");
        last = Some(version_of(&made));
    }
    caught_up(&informer, last.expect("a version")).await;
    let snapshot = informer.snapshot();
    assert_eq!(snapshot.len(), 3);
    assert_eq!(
        sorted(snapshot.namespace(&near).map(|map| map.key().name().to_owned())),
        ["x", "y"]
    );
    assert_eq!(snapshot.namespace(&far).count(), 1);
    assert_eq!(snapshot.namespace("none").count(), 0);
    for (namespace, name) in [(&near, "x"), (&far, "x")] {
        let map = snapshot
            .get(&Key::namespaced(namespace, name))
            .expect("the object");
        assert_eq!(map.metadata.namespace.as_ref(), Some(namespace));
    }
    assert!(snapshot.get(&Key::namespaced(&far, "y")).is_none());
    assert!(snapshot.get(&Key::cluster("x")).is_none());
    stopped(&informer).await;
}

#[tokio::test]
async fn object_is_indexed_under_each_of_its_values() {
    let maps = ConfigMaps::named([]).await;
    maps.create("a", "red green").await;
    maps.create("b", "green").await;
    maps.create("c", "red red").await;
    let informer = maps.informer();
    let index = informer.index("word", words).expect("an index");
    started(&informer).await;
    assert_eq!(names(&index.get("green")), ["a", "b"]);
    // A duplicate value counts once.
    assert_eq!(names(&index.get("red")), ["a", "c"]);
    assert!(index.get("blue").is_empty());
    let mut keys = index.keys("red");
    keys.sort();
    assert_eq!(keys, [maps.key("a"), maps.key("c")]);
    assert_eq!(
        sorted(index.values().iter().map(|value| (**value).clone())),
        ["green", "red"]
    );

    // The index follows changes of the objects.
    let version = maps.change("a", "blue").await;
    caught_up(&informer, version).await;
    maps.delete("c").await;
    let version = maps.create("d", "blue green").await;
    caught_up(&informer, version).await;
    assert!(index.get("red").is_empty());
    assert_eq!(names(&index.get("blue")), ["a", "d"]);
    assert_eq!(names(&index.get("green")), ["b", "d"]);
    assert_eq!(
        sorted(index.values().iter().map(|value| (**value).clone())),
        ["blue", "green"]
    );
    stopped(&informer).await;
}

/// A value of a user-defined type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Length {
    Short,
    Long,
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Length::Short => "short",
            Length::Long => "long",
        })
    }
}

#[tokio::test]
async fn indexes_are_available_by_type_and_by_name() {
    let maps = ConfigMaps::named([]).await;
    maps.create("a", "x").await;
    maps.create("b", "xxxxxxxx").await;
    let informer = maps.informer();
    let sizes = informer.index("size", |map: &ConfigMap| Some(value(map).len()));
    let sizes = sizes.expect("an index");
    let lengths = informer.index("length", |map: &ConfigMap| {
        [if value(map).len() < 3 {
            Length::Short
        } else {
            Length::Long
        }]
    });
    let lengths = lengths.expect("an index");
    let own_keys = informer.index("key", |map: &ConfigMap| {
        let (namespace, name) = (map.metadata.namespace.as_deref(), map.metadata.name.as_deref());
        name.map(|name| Key::new(namespace, name))
    });
    let own_keys = own_keys.expect("an index");
    let none = informer.index("none", |_: &ConfigMap| None::<String>);
    let none = none.expect("an index");
    started(&informer).await;

    assert_eq!(names(&sizes.get(&8)), ["b"]);
    assert_eq!(names(&lengths.get(&Length::Short)), ["a"]);
    assert_eq!(names(&own_keys.get(&maps.key("a"))), ["a"]);
    assert!(none.values().is_empty());
    let snapshot = informer.snapshot();
    assert_eq!(
        snapshot.index_names().collect::<Vec<_>>(),
        ["size", "length", "key", "none"]
    );
    assert_eq!(
        snapshot.index_values("length").expect("an index"),
        ["long", "short"]
    );
    assert_eq!(names(&snapshot.by_name("size", "1").expect("an index")), ["a"]);
    assert_eq!(
        snapshot.keys_by_name("length", "long").expect("an index"),
        [maps.key("b")]
    );
    assert_eq!(names(&snapshot.by(&lengths, &Length::Long)), ["b"]);
    let unknown = snapshot.by_name("colour", "red").expect_err("no such index");
    assert!(unknown.is_unknown_index());
    let text = unknown.to_string();
    assert!(
        text.contains("\"colour\"") && text.contains("configmaps"),
        "{text}"
    );
    stopped(&informer).await;
}
