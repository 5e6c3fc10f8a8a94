use serde_json::json;

use super::*;

fn pods() -> CollectionId {
    "/pods".into()
}

fn pod(name: &str) -> Value {
    json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "namespace": "a", "uid": name, "labels": {"app": name}}, "spec": {"x": 1}})
}

fn put(
    store: &Store,
    kind: EventKind,
    name: &str,
    expected: Option<u64>,
) -> Result<Arc<Stored>, StaleRevision> {
    let key = Key::new(Some("a"), name);
    store.write(Write {
        collection: &pods(),
        key,
        expected,
        kind,
        object: pod(name),
        fields: [].into(),
        schema: 0,
    })
}

fn names(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.objects.iter().map(|o| o.key.name()).collect()
}

#[test]
fn every_representation_is_a_slice_of_the_event() {
    let store = Store::new(10);
    let stored = put(&store, EventKind::Added, "x", None).expect("written");
    let event: Value = serde_json::from_slice(&stored.event(EventKind::Added).1).expect("JSON");
    assert_eq!(event["type"], "ADDED");
    assert_eq!(event["object"], stored.value());
    assert_eq!(stored.value()["metadata"]["resourceVersion"], "2");
    let (prefix, rest) = stored.event(EventKind::Deleted);
    let text = [prefix.expect("another kind"), rest].concat();
    let deleted: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(deleted["type"], "DELETED");
    assert_eq!(deleted["object"], stored.value());
    let item: Value = serde_json::from_slice(&[b"{", &stored.json_rest()[..]].concat()).expect("JSON");
    assert_eq!(item["spec"]["x"], 1);
    assert!(item.get("kind").is_none());
    let metadata: Value =
        serde_json::from_slice(&[b"{", &stored.json_metadata()[..], b"}"].concat()).expect("JSON");
    assert_eq!(metadata["metadata"], stored.value()["metadata"]);
}

#[test]
fn a_write_at_the_wrong_revision_changes_nothing() {
    let store = Store::new(10);
    let first = put(&store, EventKind::Added, "x", None).expect("written");
    assert_eq!(
        put(&store, EventKind::Added, "x", None).expect_err("exists"),
        StaleRevision
    );
    assert_eq!(
        put(&store, EventKind::Modified, "x", Some(77)).expect_err("wrong"),
        StaleRevision
    );
    assert_eq!(store.revision(), first.revision);
    put(&store, EventKind::Modified, "x", Some(first.revision)).expect("right revision");
}

#[test]
fn a_list_at_an_older_revision_contains_the_objects_of_that_revision() {
    let store = Store::new(10);
    let a = put(&store, EventKind::Added, "a", None).expect("a").revision;
    let b = put(&store, EventKind::Added, "b", None).expect("b").revision;
    put(&store, EventKind::Deleted, "a", Some(a)).expect("delete a");
    let a2 = put(&store, EventKind::Added, "a", None)
        .expect("a again")
        .revision;
    let at = |r| store.list_at("/pods", Key::range(None), r).expect("in history");
    assert_eq!(names(&at(a)), ["a"]);
    assert_eq!(names(&at(b)), ["a", "b"]);
    assert_eq!(at(b).objects[0].revision, a);
    assert_eq!(names(&at(b + 1)), ["b"]);
    assert_eq!(at(a2).objects[0].revision, a2);
    store.compact(b);
    assert_eq!(
        store
            .list_at("/pods", Key::range(None), a)
            .expect_err("compacted"),
        HistoryCompacted(b)
    );
    assert_eq!(names(&at(b)), ["a", "b"]);
}

#[test]
fn a_cursor_gets_each_change_once_or_an_error() {
    let store = Store::new(3);
    let first = put(&store, EventKind::Added, "a", None).expect("a").revision;
    let seen = store.changes_after("/pods", 1).expect("in history");
    assert_eq!((seen.changes.len(), seen.cursor), (1, first));
    assert!(
        store
            .changes_after("/pods", seen.cursor)
            .expect("in history")
            .changes
            .is_empty()
    );
    for name in ["b", "c", "d"] {
        put(&store, EventKind::Added, name, None).expect("written");
    }
    assert_eq!(
        store.changes_after("/pods", 1).expect_err("trimmed"),
        HistoryCompacted(first)
    );
    assert_eq!(
        store
            .changes_after("/pods", first)
            .expect("in history")
            .changes
            .len(),
        3
    );
}

#[test]
fn keys_are_ordered_as_etcd_orders_them() {
    let mut keys = [
        Key::new(Some("a"), "x"),
        Key::new(Some("a-b"), "x"),
        Key::new(Some("a"), "b"),
    ];
    keys.sort();
    assert_eq!(keys.map(|k| k.to_string()), ["a-b/x", "a/b", "a/x"]);
}

#[test]
fn dependents_follow_owner_references() {
    let store = Store::new(10);
    let mut owned = pod("child");
    owned["metadata"]["ownerReferences"] = json!([{"uid": "parent"}]);
    let key = Key::new(Some("a"), "child");
    let write = |kind, expected, object| {
        store.write(Write {
            collection: &pods(),
            key: key.clone(),
            expected,
            kind,
            object,
            fields: [].into(),
            schema: 0,
        })
    };
    let first = write(EventKind::Added, None, owned.clone()).expect("written");
    assert_eq!(store.dependents("parent").len(), 1);
    assert_eq!(store.by_uid("child").expect("known").key, key);
    let second = write(EventKind::Modified, Some(first.revision), pod("child")).expect("written");
    assert!(store.dependents("parent").is_empty());
    write(EventKind::Deleted, Some(second.revision), owned).expect("deleted");
    assert!(store.by_uid("child").is_none());
}

#[test]
fn a_restored_backup_has_the_old_objects_and_revision() {
    let store = Store::new(10);
    put(&store, EventKind::Added, "a", None).expect("a");
    let backup = store.backup();
    put(&store, EventKind::Added, "b", None).expect("b");
    store.restore(&backup);
    assert_eq!(store.revision(), 2);
    assert_eq!(names(&store.list("/pods", Key::range(None))), ["a"]);
    assert_eq!(put(&store, EventKind::Added, "c", None).expect("c").revision, 3);
}
