//! Snapshots of one informer and of several.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, ObjectMeta, PostParams};
use kube_informer::{Object, Selector, SharedInformer, snapshot_all};

use crate::config_maps::{ConfigMaps, value, version_of};
use crate::informers::{PATIENCE, caught_up, names, started, stopped};

#[tokio::test]
async fn snapshot_does_not_change() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    let informer = maps.informer();
    let by_value = informer
        .index("value", |map: &ConfigMap| [value(map).to_owned()])
        .expect("an index");
    started(&informer).await;
    let held = informer.snapshot();
    let (version, a) = (held.version().cloned(), held.get(&maps.key("a")));

    for round in 2..12 {
        maps.change("a", &round.to_string()).await;
    }
    maps.delete("b").await;
    let written = maps.create("c", "1").await;
    caught_up(&informer, written).await;
    informer.index("late", |_: &ConfigMap| ["all"]).expect("an index");
    stopped(&informer).await;
    drop(informer);

    // Objects, indexes and version stay the same, even after the informer has stopped.
    assert_eq!(held.version(), version.as_ref());
    assert_eq!(held.len(), 2);
    assert_eq!(names(&held.by(&by_value, "1")), ["a", "b"]);
    assert!(held.by(&by_value, "11").is_empty());
    assert!(held.get(&maps.key("c")).is_none());
    assert_eq!(held.index_names().collect::<Vec<_>>(), ["value"]);
    assert!(
        held.get(&maps.key("a"))
            .zip(a)
            .is_some_and(|(now, then)| Object::ptr_eq(&now, &then))
    );
    assert_eq!(held.select(&Selector::everything()).count(), 2);
    let clone = held.clone();
    drop(held);
    assert_eq!(clone.len(), 2);
}

#[tokio::test]
async fn snapshots_of_different_versions_coexist() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    started(&informer).await;
    let mut snapshots = vec![informer.snapshot()];
    for round in 2..7 {
        let written = maps.change("a", &round.to_string()).await;
        caught_up(&informer, written).await;
        snapshots.push(informer.snapshot());
    }
    let values: Vec<_> = snapshots
        .iter()
        .filter_map(|snapshot| snapshot.get(&maps.key("a")))
        .map(|map| value(&map).to_owned())
        .collect();
    assert_eq!(values, ["1", "2", "3", "4", "5", "6"]);
    assert!(snapshots.is_sorted_by(|a, b| a.version().zip(b.version()).is_some_and(|(a, b)| a.is_before(b))));
    stopped(&informer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn snapshot_of_several_informers_is_consistent() {
    let maps = ConfigMaps::named(["a"]).await;
    let client = maps.server.client.clone();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &maps.server.namespace);
    let of_maps = maps.informer();
    let of_secrets = SharedInformer::<Secret>::builder(client)
        .namespace(&maps.server.namespace)
        .build();
    started(&of_maps).await;
    started(&of_secrets).await;
    let (map_lister, secret_lister) = (of_maps.lister(), of_secrets.lister());

    let done = Arc::new(AtomicBool::new(false));
    let reader = {
        let (maps, secrets, done) = (map_lister.clone(), secret_lister.clone(), Arc::clone(&done));
        std::thread::spawn(move || {
            let (mut seen_maps, mut seen_secrets) = (0, 0);
            while !done.load(Ordering::Acquire) {
                let (maps, secrets) = snapshot_all((&maps, &secrets));
                // A map is created only after the secret before it is cached, and vice versa: at any time the
                // numbers differ by at most one.
                let (maps, secrets) = (maps.len(), secrets.len());
                assert!(secrets + 1 == maps || secrets == maps, "{maps} and {secrets}");
                assert!(maps >= seen_maps && secrets >= seen_secrets);
                (seen_maps, seen_secrets) = (maps, secrets);
            }
        })
    };
    let mut outcome = Ok(());
    for number in 0..30 {
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(format!("secret-{number}")),
                ..ObjectMeta::default()
            },
            ..Secret::default()
        };
        let made = secrets.create(&PostParams::default(), &secret).await;
        outcome = of_secrets
            .wait_for_version(version_of(&made.expect("a secret")), PATIENCE)
            .await;
        let written = maps.create(&format!("map-{number}"), "1").await;
        outcome = outcome.and(of_maps.wait_for_version(written, PATIENCE).await);
        if outcome.is_err() {
            break;
        }
    }
    done.store(true, Ordering::Release);
    reader.join().expect("a consistent snapshot");
    outcome.expect("the versions of writes");
    let (maps_now, secrets_now) = snapshot_all((&map_lister, &secret_lister));
    assert_eq!((maps_now.len(), secrets_now.len()), (31, 30));
    // Each snapshot has its own version.
    assert_eq!(maps_now.version(), of_maps.resource_version().as_ref());
    assert_eq!(secrets_now.version(), of_secrets.resource_version().as_ref());
    stopped(&of_maps).await;
    stopped(&of_secrets).await;
}
