//! Default admission plugins that depend only on the object itself.

use serde_json::{Value, json};

use super::fields::{is_empty, items, object_at, set_default, text};

/// Seconds that a pod stays on a node that is not ready or unreachable.
const TOLERATED_SECONDS: i64 = 300;

/// Adds the fields that admission sets on creation.
///
/// The priority of a pod with a priority class is not set, because it depends on other objects.
pub(crate) fn admit(group: &str, kind: &str, object: &mut Value) {
    match (group, kind) {
        ("", "Pod") => pod(object_at(object, "spec")),
        ("", "Node") => node(object_at(object, "spec")),
        ("", "PersistentVolume") => protect(object, "kubernetes.io/pv-protection"),
        ("", "PersistentVolumeClaim") => protect(object, "kubernetes.io/pvc-protection"),
        ("storage.k8s.io", "VolumeAttributesClass") => protect(object, "kubernetes.io/vac-protection"),
        ("scheduling.k8s.io", "PodGroup") => protect(object, "scheduling.k8s.io/podgroup-protection"),
        _ => {}
    }
}

fn pod(spec: &mut Value) {
    if text(spec, "priorityClassName").is_empty() {
        set_default(spec, "priority", 0);
    }
    set_default(spec, "preemptionPolicy", "PreemptLowerPriority");
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = items(spec, "tolerations").iter().any(|t| {
            let key_fits = text(t, "key") == key || text(t, "key").is_empty();
            key_fits && matches!(text(t, "effect"), "NoExecute" | "")
        });
        if tolerated {
            continue;
        }
        let toleration = json!({
            "key": key,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": TOLERATED_SECONDS,
        });
        push(spec, "tolerations", toleration);
    }
}

/// Adds the taint that new nodes have until they are ready.
fn node(spec: &mut Value) {
    let key = "node.kubernetes.io/not-ready";
    let tainted = items(spec, "taints")
        .iter()
        .any(|t| text(t, "key") == key && text(t, "effect") == "NoSchedule");
    if !tainted {
        push(spec, "taints", json!({ "key": key, "effect": "NoSchedule" }));
    }
}

fn protect(object: &mut Value, finalizer: &str) {
    let metadata = object_at(object, "metadata");
    if !items(metadata, "finalizers").iter().any(|f| f == finalizer) {
        push(metadata, "finalizers", finalizer.into());
    }
}

fn push(parent: &mut Value, name: &str, item: Value) {
    if is_empty(&parent[name]) {
        parent[name] = json!([]);
    }
    if let Some(Value::Array(list)) = parent.get_mut(name) {
        list.push(item);
    }
}
