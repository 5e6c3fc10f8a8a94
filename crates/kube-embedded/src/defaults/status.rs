//! The status of new objects.

use serde_json::{Value, json};

use super::fields::{is_empty, items, remove};
use super::pod;
use super::prepare::now;

/// Resets the status of a new object to the zero value of its Go type.
pub(super) fn reset(group: &str, kind: &str, object: &mut Value) {
    let status = match (group, kind) {
        // The status of nodes is kept.
        ("", "Node") => return,
        ("", "Pod") => pod_status(&object["spec"]),
        ("", "PersistentVolume") => json!({ "phase": "Pending", "lastPhaseTransitionTime": now() }),
        ("", "Namespace") => json!({ "phase": "Active" }),
        ("", "PersistentVolumeClaim") => json!({ "phase": "Pending" }),
        ("", "ReplicationController") | ("apps", "ReplicaSet") => json!({ "replicas": 0 }),
        ("", "Service") | ("networking.k8s.io", "Ingress") => json!({ "loadBalancer": {} }),
        ("apps", "StatefulSet") => json!({ "replicas": 0, "availableReplicas": 0 }),
        ("apps", "DaemonSet") => json!({
            "currentNumberScheduled": 0,
            "desiredNumberScheduled": 0,
            "numberMisscheduled": 0,
            "numberReady": 0,
        }),
        ("autoscaling", _) if object["apiVersion"] == "autoscaling/v1" => {
            json!({ "currentReplicas": 0, "desiredReplicas": 0 })
        }
        ("autoscaling", _) => json!({ "currentMetrics": null, "desiredReplicas": 0 }),
        ("policy", _) => json!({
            "currentHealthy": 0,
            "desiredHealthy": 0,
            "disruptionsAllowed": 0,
            "expectedPods": 0,
        }),
        ("apiextensions.k8s.io", _) => json!({
            "acceptedNames": { "kind": "", "plural": "" },
            "conditions": null,
            "storedVersions": stored_versions(&object["spec"]),
        }),
        ("storage.k8s.io", "VolumeAttachment") => json!({ "attached": false }),
        ("resource.k8s.io", "ResourcePoolStatusRequest") => {
            remove(object, "status");
            return;
        }
        _ => json!({}),
    };
    object["status"] = status;
}

fn pod_status(spec: &Value) -> Value {
    let mut status = json!({ "phase": "Pending", "qosClass": pod::quality(spec) });
    if !is_empty(&spec["schedulingGates"]) {
        status["conditions"] = json!([{
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null,
            "lastTransitionTime": now(),
        }]);
    }
    status
}

fn stored_versions(spec: &Value) -> Vec<Value> {
    let versions = items(spec, "versions").iter();
    versions
        .filter(|v| v["storage"] == true)
        .map(|v| v["name"].clone())
        .collect()
}
