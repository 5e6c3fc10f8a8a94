use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube_wire::FieldMask;
use kube_workqueue::WorkQueue;
use serde_json::json;

use super::{enqueue_controllers, enqueue_keys, enqueue_mapped, enqueue_owners};
use crate::handler::{Event, EventHandler, filtered};
use crate::object::format::{Allocation, PackingContext, Value};
use crate::object::{EncodedObject, Entry, Format, Key, Object, ResourceVersion, Transform, WatchedResource};
use crate::pipeline::store::Seed;

/// Returns a packed pod with three owners, and a counter of how often it is decoded.
fn packed_pod() -> (Object<Pod>, Arc<AtomicUsize>) {
    let decoded = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&decoded);
    let transform = Transform::new(move |_: &mut Pod| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok::<_, String>(())
    });
    let packing = PackingContext::new(WatchedResource::of::<Pod>(&(), None), Some(transform));
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-1",
            "namespace": "shop",
            "uid": "1",
            "resourceVersion": "5",
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "2", "controller": true},
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "other", "uid": "3"},
                {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "4"},
            ],
        },
    });
    let encoded = EncodedObject {
        format: Format::Json,
        bytes: serde_json::to_vec(&pod).unwrap().into(),
    };
    let key: Key = "shop/web-1".parse().unwrap();
    let packed = packing.pack(&key, &encoded, &FieldMask::none(), Allocation::Block);
    let hash = Seed::new(1).key(&key);
    let version = ResourceVersion::from(5);
    let entry = Entry::new(key, hash, version, None, Value::Packed(packed.unwrap()));
    decoded.store(0, Ordering::Relaxed);
    (Object::new(entry), decoded)
}

fn queued(queue: &WorkQueue<Key>) -> Vec<String> {
    let mut keys: Vec<String> = std::iter::from_fn(|| queue.try_get())
        .map(|item| item.to_string())
        .collect();
    keys.sort();
    keys
}

#[test]
fn owners_of_packed_objects_are_enqueued_without_decoding() {
    let (pod, decoded) = packed_pod();
    let queue = WorkQueue::new("test");
    enqueue_owners::<ReplicaSet, Pod>(&queue).on_add(&pod, false);
    assert_eq!(queued(&queue), ["shop/other", "shop/web"]);
    enqueue_controllers::<ReplicaSet, Pod>(&queue).on_update(&pod, &pod);
    assert_eq!(queued(&queue), ["shop/web"]);
    enqueue_owners::<Node, Pod>(&queue).on_add(&pod, true);
    assert_eq!(queued(&queue), ["node-1"], "an owner without a namespace");
    enqueue_keys::<Pod>(&queue).on_add(&pod, true);
    assert_eq!(queued(&queue), ["shop/web-1"]);
    assert_eq!(decoded.load(Ordering::Relaxed), 0);
}

#[test]
fn handlers_that_enqueue_need_every_event() {
    let queue = WorkQueue::new("test");
    let mapped = || enqueue_mapped(&queue, |pod: &Object<Pod>| [pod.key().clone()]);
    assert!(enqueue_keys::<Pod>(&queue).needs_every_event());
    assert!(mapped().needs_every_event());
    assert!(filtered(|_: &Pod| true, mapped()).needs_every_event());
    assert!(!EventHandler::<Pod>::needs_every_event(&|_: Event<Pod>| {}));
}

#[test]
fn only_handlers_without_user_code_never_block() {
    let queue = WorkQueue::new("test");
    assert!(enqueue_keys::<Pod>(&queue).never_blocks());
    assert!(enqueue_owners::<ReplicaSet, Pod>(&queue).never_blocks());
    assert!(enqueue_controllers::<ReplicaSet, Pod>(&queue).never_blocks());
    let mapped = enqueue_mapped(&queue, |pod: &Object<Pod>| [pod.key().clone()]);
    assert!(!mapped.never_blocks());
}
