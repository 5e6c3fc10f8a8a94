//! Converts objects between the versions of their kind.
//!
//! Most versions of a kind differ only in name. Fields are converted for events in their two groups, and for
//! HorizontalPodAutoscalers in v1 and v2.
//!
//! Custom resources are stored in the storage version, pruned and defaulted by its schema. The definition may change
//! after they are written, so they are pruned and defaulted again when they are read. That is skipped for objects that
//! have the hash of the current schema.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::api::Resource;
use crate::store::Stored;

/// Converts an object from the version of `resource` to the storage version.
///
/// Also returns the hash of the schema by which the object is pruned and defaulted, or 0 if that is unknown.
pub(crate) fn to_stored(mut object: Value, resource: &Resource) -> (Value, u64) {
    if !resource.is_stored_version() {
        object = convert(object, &resource.api_version(), &resource.stored_as);
    }
    // A changed object may change again, because defaults may contain fields that are pruned.
    let is_changed = normalize(&mut object, resource);
    (object, if is_changed { 0 } else { resource.schema_hash() })
}

/// Converts a stored object to the version of `resource`.
pub(crate) fn from_stored(stored: &Stored, resource: &Resource) -> Value {
    let mut object = stored.value();
    // The definition may have changed since the object was written.
    if !stored.is_of_schema(resource.schema_hash()) && !normalize(&mut object, resource) {
        stored.set_schema(resource.schema_hash());
    }
    from_storage_version(object, resource)
}

/// Converts an object between two versions of its resource.
pub(crate) fn between(object: Value, from: &Resource, to: &Resource) -> Value {
    let (object, _) = to_stored(object, from);
    from_storage_version(object, to)
}

fn from_storage_version(object: Value, resource: &Resource) -> Value {
    if resource.is_stored_version() {
        return object;
    }
    let mut object = convert(object, &resource.stored_as, &resource.api_version());
    if let Some(custom) = resource.custom() {
        custom.prune(&resource.version, &mut object);
    }
    object
}

/// Converts a custom resource to the storage version, pruned and defaulted. Returns whether that changed it.
fn normalize(object: &mut Value, resource: &Resource) -> bool {
    let Some(custom) = resource.custom() else {
        return false;
    };
    let is_converted = object["apiVersion"] != resource.stored_as.as_str();
    if is_converted {
        object["apiVersion"] = resource.stored_as.as_str().into();
    }
    custom.normalize(object) || is_converted
}

fn convert(mut object: Value, from: &str, to: &str) -> Value {
    match (from, to, object["kind"].as_str()) {
        ("v1", "events.k8s.io/v1", _) => rename(&mut object, EVENTS),
        ("events.k8s.io/v1", "v1", _) => rename(&mut object, EVENTS.map(|(core, events)| (events, core))),
        ("autoscaling/v1", "autoscaling/v2", Some("HorizontalPodAutoscaler")) => {
            autoscaler_to_v2(&mut object);
        }
        ("autoscaling/v2", "autoscaling/v1", Some("HorizontalPodAutoscaler")) => {
            autoscaler_to_v1(&mut object);
        }
        _ => {}
    }
    object["apiVersion"] = to.into();
    object
}

/// Names of an event's fields in the core group and in `events.k8s.io`.
const EVENTS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

fn rename<const N: usize>(object: &mut Value, names: [(&str, &str); N]) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    for (from, to) in names {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.into(), value);
        }
    }
}

/// Annotations of v1 for fields that it does not have.
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";

fn autoscaler_to_v2(object: &mut Value) {
    let mut metrics = Vec::new();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
        && let Some(percent) = spec.remove("targetCPUUtilizationPercentage")
    {
        metrics.push(json!({
            "type": "Resource",
            "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": percent } },
        }));
    }
    if let Some(Value::Array(more)) = take_annotation(object, METRICS) {
        metrics.extend(more);
    }
    if !metrics.is_empty() {
        object["spec"]["metrics"] = metrics.into();
    }
    if let Some(behavior) = take_annotation(object, BEHAVIOR) {
        object["spec"]["behavior"] = behavior;
    }
    let mut current = Vec::new();
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut)
        && let Some(percent) = status.remove("currentCPUUtilizationPercentage")
    {
        current.push(json!({
            "type": "Resource",
            "resource": { "name": "cpu", "current": { "averageUtilization": percent } },
        }));
    }
    if let Some(Value::Array(more)) = take_annotation(object, CURRENT_METRICS) {
        current.extend(more);
    }
    if !current.is_empty() {
        object["status"]["currentMetrics"] = current.into();
    }
    if let Some(conditions) = take_annotation(object, CONDITIONS) {
        object["status"]["conditions"] = conditions;
    }
}

fn autoscaler_to_v1(object: &mut Value) {
    let is_cpu = |metric: &Value, field: &str| {
        metric["type"] == "Resource"
            && metric["resource"]["name"] == "cpu"
            && metric["resource"][field]["averageUtilization"].is_number()
    };
    let mut annotations = Map::new();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        if let Some(Value::Array(mut metrics)) = spec.remove("metrics") {
            if let Some(at) = metrics.iter().position(|m| is_cpu(m, "target")) {
                let cpu = metrics.remove(at);
                let percent = cpu["resource"]["target"]["averageUtilization"].clone();
                spec.insert("targetCPUUtilizationPercentage".into(), percent);
            }
            annotate(&mut annotations, METRICS, &metrics.into());
        }
        if let Some(behavior) = spec.remove("behavior") {
            annotate(&mut annotations, BEHAVIOR, &behavior);
        }
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        if let Some(Value::Array(mut metrics)) = status.remove("currentMetrics") {
            if let Some(at) = metrics.iter().position(|m| is_cpu(m, "current")) {
                let cpu = metrics.remove(at);
                let percent = cpu["resource"]["current"]["averageUtilization"].clone();
                status.insert("currentCPUUtilizationPercentage".into(), percent);
            }
            annotate(&mut annotations, CURRENT_METRICS, &metrics.into());
        }
        if let Some(conditions) = status.remove("conditions") {
            annotate(&mut annotations, CONDITIONS, &conditions);
        }
    }
    for (name, text) in annotations {
        object["metadata"]["annotations"][name] = text;
    }
}

fn annotate(annotations: &mut Map<String, Value>, name: &str, value: &Value) {
    if value.as_array().is_none_or(|list| !list.is_empty()) {
        annotations.insert(name.into(), value.to_string().into());
    }
}

fn take_annotation(object: &mut Value, name: &str) -> Option<Value> {
    let metadata = object.get_mut("metadata")?;
    let annotations = metadata.get_mut("annotations")?.as_object_mut()?;
    let text = annotations.remove(name)?;
    if annotations.is_empty()
        && let Some(fields) = metadata.as_object_mut()
    {
        fields.remove("annotations");
    }
    serde_json::from_str(text.as_str()?).ok()
}
