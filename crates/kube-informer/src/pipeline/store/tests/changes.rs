//! Tests of single changes and lists, and their visibility for readers and handlers.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_wire::selector::Selector;

use super::{TestStore, key, name_of, tagged, tags_of};
use crate::lister::Lister;
use crate::object::{Key, Object, ResourceVersion};
use crate::pipeline::store::{Change, Seed};

#[test]
fn contract_1_changes_are_invisible_until_they_are_published() {
    let mut cache = TestStore::new(Seed::new(1));
    cache.upsert(tagged(&key("a/b"), 7, 1, &[]));
    assert!(cache.store.snapshot().is_empty());
    assert_eq!(cache.store.version(), None);
    cache.publish();
    assert_eq!(cache.store.snapshot().len(), 1);
    assert_eq!(cache.store.version(), Some(ResourceVersion::from(7)));
}

/// Contract 10: an unchanged object is neither copied nor delivered, whether it was decoded or not.
#[test]
fn contract_10_a_list_keeps_unchanged_objects() {
    for known in [true, false] {
        let mut cache = TestStore::new(Seed::new(2));
        let keys: Vec<Key> = (0..100).map(|n| Key::namespaced("a", &format!("n{n}"))).collect();
        cache.replace(keys.iter().map(|key| tagged(key, 1, 1, &["red"])).collect(), 1);
        cache.publish();
        let before = cache.store.snapshot();

        let items = keys.iter().enumerate().map(|(n, key)| {
            let object = tagged(key, if n == 50 { 9 } else { 1 }, 1, &["red"]);
            if known {
                cache.listed(object)
            } else {
                cache.entry(object)
            }
        });
        let items = items.collect();
        let changes = cache.replace_with(items, 10);
        cache.publish();
        assert_eq!(changes.len(), 1);
        let after = cache.store.snapshot();
        for (n, key) in keys.iter().enumerate() {
            let same = Object::ptr_eq(&before.get(key).unwrap(), &after.get(key).unwrap());
            assert_eq!(same, n != 50, "{key}");
        }
        assert_eq!(after.version(), Some(&ResourceVersion::from(10)));
    }
}

/// A cached object may be deleted or changed between reading a page and applying the list.
#[test]
fn a_cached_object_may_change_before_the_list_is_applied() {
    let mut cache = TestStore::new(Seed::new(3));
    let (gone, changed) = (key("a/gone"), key("a/changed"));
    for key in [&gone, &changed] {
        cache.upsert(tagged(key, 1, 1, &["old"]));
    }
    cache.publish();
    let items = [&gone, &changed].map(|key| cache.listed(tagged(key, 1, 1, &["old"])));
    let cached = |entry: &Arc<_>| Arc::strong_count(entry) > 1;
    assert!(items.iter().all(cached));
    cache.delete(tagged(&gone, 2, 1, &["old"]));
    cache.upsert(tagged(&changed, 3, 1, &["new"]));

    let changes = cache.replace_with(items.into(), 4);
    cache.publish();
    assert_eq!(changes.len(), 2);
    let snapshot = cache.store.snapshot();
    for key in [&gone, &changed] {
        assert_eq!(
            tags_of(&snapshot.get(key).unwrap()),
            ["old"],
            "the list determines the contents"
        );
    }
}

#[test]
fn a_list_delivers_deletions_first() {
    let mut cache = TestStore::new(Seed::new(4));
    cache.replace(
        (0..30)
            .map(|n| tagged(&key(&format!("n{n}")), 1, 1, &[]))
            .collect(),
        1,
    );
    cache.publish();
    let changes = cache.replace(
        (20..50)
            .map(|n| tagged(&key(&format!("n{n}")), 2, 1, &[]))
            .collect(),
        2,
    );
    let deleted = changes
        .iter()
        .take_while(|change| matches!(change, Change::Deleted { unknown: true, .. }));
    assert_eq!(deleted.count(), 20);
    assert_eq!(changes.len(), 20 + 30);
    assert!(
        changes[20..]
            .iter()
            .all(|change| !matches!(change, Change::Deleted { .. }))
    );
}

/// A new object with the same name deletes the previous one, whose deletion was not observed.
#[test]
fn a_new_object_with_the_same_name_is_deleted_and_added() {
    let mut cache = TestStore::new(Seed::new(5));
    cache.upsert(tagged(&key("a/b"), 1, 1, &[]));
    let changes = cache.upsert(tagged(&key("a/b"), 2, 2, &[]));
    assert!(matches!(
        changes[..],
        [Change::Deleted { unknown: true, .. }, Change::Added { .. }]
    ));
}

#[test]
fn the_deletion_of_an_unknown_object_only_advances_the_version() {
    let mut cache = TestStore::new(Seed::new(6));
    assert!(cache.delete(tagged(&key("a/b"), 5, 1, &[])).is_empty());
    cache.publish();
    assert_eq!(cache.store.version(), Some(ResourceVersion::from(5)));
}

#[test]
fn listers_select_by_labels_and_namespace() {
    let mut cache = TestStore::new(Seed::new(7));
    for (n, namespace) in ["a", "a", "b", "b"].into_iter().enumerate() {
        let mut object = tagged(&Key::namespaced(namespace, &format!("n{n}")), 1, 1, &[]);
        object.metadata.labels = Some([("even".to_owned(), (n % 2 == 0).to_string())].into());
        cache.upsert(object);
    }
    cache.publish();
    let lister = Lister::new(Arc::clone(&cache.store));
    let names = |mut list: Vec<Object<ConfigMap>>| {
        list.sort_by(|a, b| name_of(a).cmp(name_of(b)));
        list.iter()
            .map(|object| name_of(object).to_owned())
            .collect::<Vec<_>>()
    };
    let even: Selector = "even=true".parse().unwrap();
    assert_eq!(
        names(lister.list(&Selector::everything())),
        ["n0", "n1", "n2", "n3"]
    );
    assert_eq!(names(lister.list(&even)), ["n0", "n2"]);
    assert_eq!(
        names(lister.namespace("b").list(&Selector::everything())),
        ["n2", "n3"]
    );
    assert_eq!(names(lister.namespace("b").list(&even)), ["n2"]);
    assert!(lister.namespace("c").list(&even).is_empty());
    assert_eq!(names(lister.namespace("").list(&even)), ["n0", "n2"]);
    assert!(lister.list(&"even=maybe".parse().unwrap()).is_empty());
    assert_eq!(cache.store.snapshot().select(&even).count(), 2);
    assert_eq!(name_of(&lister.namespace("a").get("n0").unwrap()), "n0");
    assert_eq!(name_of(&lister.get_key(&key("b/n2")).unwrap()), "n2");
    assert_eq!(lister.len(), 4);

    let missing = lister.namespace("a").get("n9").unwrap_err();
    assert!(missing.is_not_found());
    assert_eq!(missing.to_string(), "configmaps \"a/n9\" not found in the cache");
    assert!(
        lister.get("n0").unwrap_err().is_not_found(),
        "the object has a namespace"
    );
}
