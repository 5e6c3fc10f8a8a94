//! Prepares objects before they are stored: resets fields that the client may not write, and increments generations.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::cluster::claim_sources;
use super::fields::{copy, each_item, is_empty, items, object_at, remove, set_default, text, with};
use super::status;
use super::strategy::{Generation, Strategy, strategy};

/// Returns the current time in the format of the API.
pub(super) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Prepares a decoded and defaulted object for its creation.
///
/// The caller sets name, namespace and uid before (selectors of jobs contain the uid), and creation time and resource
/// version afterwards.
pub(crate) fn prepare_for_create(group: &str, kind: &str, object: &mut Value) {
    let strategy = strategy(group, kind);
    let metadata = object_at(object, "metadata");
    for name in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        remove(metadata, name);
    }
    match strategy.generation {
        Generation::Unused => {}
        Generation::SpecFromZero => {
            remove(metadata, "generation");
        }
        Generation::Fixed | Generation::Spec | Generation::Content => metadata["generation"] = 1.into(),
    }
    if strategy.status {
        status::reset(group, kind, object);
    }
    match (group, kind) {
        ("", "Namespace") => finalizers(object),
        ("", "LimitRange") => {
            let uid = object["metadata"]["uid"].clone();
            set_default(object_at(object, "metadata"), "name", uid);
        }
        ("", "PersistentVolumeClaim") => claim_sources(object),
        ("", "Service") => service_families(object),
        ("apps", "DaemonSet") => template_generation(object, 1),
        ("batch", "Job") => job_selector(object),
        ("batch", "CronJob") => with(object, "spec", |spec| {
            with(spec, "jobTemplate", |t| {
                object_at(t, "metadata");
            });
        }),
        _ => {}
    }
}

fn finalizers(object: &mut Value) {
    let spec = object_at(object, "spec");
    let mut names = items(spec, "finalizers").to_vec();
    if !names.iter().any(|f| f == "kubernetes") {
        names.push("kubernetes".into());
    }
    spec["finalizers"] = names.into();
}

/// Sets the address families. The cluster has one.
fn service_families(object: &mut Value) {
    with(object, "spec", |spec| {
        if text(spec, "type") == "ExternalName" {
            for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                remove(spec, name);
            }
            return;
        }
        let headless = text(spec, "clusterIP") == "None";
        if headless {
            spec["clusterIPs"] = json!(["None"]);
        }
        set_default(spec, "ipFamilyPolicy", "SingleStack");
        if is_empty(&spec["ipFamilies"]) {
            spec["ipFamilies"] = json!(["IPv4"]);
        }
    });
}

const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn template_generation(object: &mut Value, generation: i64) {
    object_at(object_at(object, "metadata"), "annotations")[TEMPLATE_GENERATION] =
        generation.to_string().into();
}

fn job_selector(object: &mut Value) {
    let name = text(&object["metadata"], "name").to_owned();
    let uid = text(&object["metadata"], "uid").to_owned();
    let spec = object_at(object, "spec");
    if spec["manualSelector"] != true {
        let labels = object_at(object_at(object_at(spec, "template"), "metadata"), "labels");
        set_default(labels, "job-name", name.clone());
        set_default(labels, "controller-uid", uid.clone());
        set_default(labels, "batch.kubernetes.io/job-name", name);
        set_default(labels, "batch.kubernetes.io/controller-uid", uid.clone());
        let selector = object_at(object_at(spec, "selector"), "matchLabels");
        set_default(selector, "batch.kubernetes.io/controller-uid", uid);
    }
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if is_empty(&object["metadata"]["labels"]) && !is_empty(&labels) {
        object_at(object, "metadata")["labels"] = labels;
    }
}

/// Prepares `new` to replace `old`: resets fields that this resource or subresource may not write, and increments the
/// generation.
///
/// `subresource` is `None` for the main resource. The caller checks name, uid and resource version.
pub(crate) fn prepare_for_update(
    group: &str,
    kind: &str,
    old: &Value,
    new: &mut Value,
    subresource: Option<&str>,
) {
    let strategy = strategy(group, kind);
    let metadata = object_at(new, "metadata");
    copy(&old["metadata"], metadata, "generation");
    if is_empty(&metadata["creationTimestamp"]) || group != "events.k8s.io" {
        copy(&old["metadata"], metadata, "creationTimestamp");
    }
    copy(&old["metadata"], metadata, "uid");
    remove(metadata, "selfLink");
    match subresource {
        None => prepare_main(group, kind, strategy, old, new),
        Some("status") => prepare_status(group, kind, strategy, old, new),
        Some("approval") => {
            let conditions = new["status"]["conditions"].clone();
            *new = keep_metadata(old, new);
            object_at(new, "status")["conditions"] = conditions;
        }
        Some("ephemeralcontainers") => {
            update_pod_part(old, new, |spec, given| copy(given, spec, "ephemeralContainers"));
        }
        Some("resize") => update_pod_part(old, new, copy_resized),
        Some("finalize") => copy(old, new, "status"),
        Some(_) => {}
    }
}

/// Updates one part of a pod's spec and resets the rest.
fn update_pod_part(old: &Value, new: &mut Value, take: impl FnOnce(&mut Value, &Value)) {
    let mut kept = old.clone();
    for name in ["managedFields", "resourceVersion"] {
        copy(&new["metadata"], object_at(&mut kept, "metadata"), name);
    }
    take(object_at(&mut kept, "spec"), &new["spec"]);
    if kept["spec"] != old["spec"] {
        update_generation(old, &mut kept);
    }
    *new = kept;
}

/// Copies resources and resize policies of containers that are otherwise equal. Validation rejects other changes.
fn copy_resized(spec: &mut Value, given: &Value) {
    copy(given, spec, "resources");
    for list in ["containers", "initContainers"] {
        let (before, after) = (items(spec, list).to_vec(), items(given, list));
        let same =
            before.len() == after.len() && before.iter().zip(after).all(|(b, a)| b["name"] == a["name"]);
        if !same {
            copy(given, spec, list);
            continue;
        }
        let mut after = after.iter();
        each_item(spec, list, |container| {
            if let Some(given) = after.next() {
                copy(given, container, "resources");
                copy(given, container, "resizePolicy");
            }
        });
    }
}

fn update_generation(old: &Value, new: &mut Value) {
    let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
    object_at(new, "metadata")["generation"] = (generation + 1).into();
}

fn keep_metadata(old: &Value, new: &Value) -> Value {
    let mut kept = old.clone();
    kept["metadata"] = new["metadata"].clone();
    kept
}

fn prepare_status(group: &str, kind: &str, strategy: Strategy, old: &Value, new: &mut Value) {
    let mut kept = if strategy.metadata_with_status {
        keep_metadata(old, new)
    } else {
        old.clone()
    };
    if !strategy.metadata_with_status {
        copy(
            &new["metadata"],
            object_at(&mut kept, "metadata"),
            "managedFields",
        );
        copy(
            &new["metadata"],
            object_at(&mut kept, "metadata"),
            "resourceVersion",
        );
    }
    copy(new, &mut kept, "status");
    match (group, kind) {
        ("", "Pod") => {
            let quality = old["status"]["qosClass"].clone();
            set_default(object_at(&mut kept, "status"), "qosClass", quality);
            copy(
                &old["metadata"],
                object_at(&mut kept, "metadata"),
                "ownerReferences",
            );
        }
        ("", "PersistentVolume") => {
            let changed = old["status"]["phase"] != kept["status"]["phase"];
            let status = object_at(&mut kept, "status");
            if changed {
                status["lastPhaseTransitionTime"] = now().into();
            } else {
                set_default(
                    status,
                    "lastPhaseTransitionTime",
                    old["status"]["lastPhaseTransitionTime"].clone(),
                );
            }
        }
        ("apps", "Deployment") => copy(&old["metadata"], object_at(&mut kept, "metadata"), "labels"),
        ("certificates.k8s.io", "CertificateSigningRequest") if is_empty(&old["status"]["certificate"]) => {
            copy(&new["status"], object_at(&mut kept, "status"), "certificate");
        }
        _ => {}
    }
    *new = kept;
}

fn prepare_main(group: &str, kind: &str, strategy: Strategy, old: &Value, new: &mut Value) {
    if strategy.status {
        copy(old, new, "status");
    }
    match (group, kind) {
        ("", "Namespace") => copy(&old["spec"], object_at(new, "spec"), "finalizers"),
        ("", "Service") => drop_type_dependents(old, new),
        ("", "PersistentVolumeClaim") => claim_sources(new),
        ("certificates.k8s.io", _) => copy(old, new, "spec"),
        ("apps", "DaemonSet") => {
            let previous = old["metadata"]["annotations"][TEMPLATE_GENERATION]
                .as_str()
                .and_then(|g| g.parse::<i64>().ok())
                .unwrap_or(0);
            let moved = old["spec"]["template"] != new["spec"]["template"];
            template_generation(new, previous + i64::from(moved));
        }
        _ => {}
    }
    let changed = match strategy.generation {
        Generation::Unused | Generation::Fixed => false,
        Generation::Spec | Generation::SpecFromZero => old["spec"] != new["spec"],
        Generation::Content => content(old) != content(new),
    };
    let noted = match (group, kind) {
        ("apps", "Deployment") => differs(old, new, "annotations"),
        ("discovery.k8s.io", "EndpointSlice") => differs(old, new, "labels"),
        _ => false,
    };
    if changed || noted {
        update_generation(old, new);
    }
}

fn differs(old: &Value, new: &Value, name: &str) -> bool {
    old["metadata"][name] != new["metadata"][name]
}

fn content(object: &Value) -> Value {
    let mut content = object.clone();
    for name in ["metadata", "status"] {
        remove(&mut content, name);
    }
    content
}

/// Drops the fields of a service that only its old type has.
fn drop_type_dependents(old: &Value, new: &mut Value) {
    let (was, is) = (
        text(&old["spec"], "type").to_owned(),
        text(&new["spec"], "type").to_owned(),
    );
    let spec = object_at(new, "spec");
    for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if is == "ExternalName" {
            if was != "ExternalName" && old["spec"][name] == spec[name] {
                remove(spec, name);
            }
        } else if was != "ExternalName" && is_empty(&spec[name]) {
            copy(&old["spec"], spec, name);
        }
    }
    if was == is {
        return;
    }
    let external = |kind: &str| matches!(kind, "NodePort" | "LoadBalancer");
    let unchanged = |spec: &Value, name: &str| spec[name] == old["spec"][name];
    if external(&was) && !external(&is) {
        if unchanged(spec, "externalTrafficPolicy") {
            remove(spec, "externalTrafficPolicy");
        }
        let before = items(&old["spec"], "ports").to_vec();
        each_item(spec, "ports", |port| {
            if before.iter().any(|b| b["nodePort"] == port["nodePort"]) {
                remove(port, "nodePort");
            }
        });
    }
    if was == "LoadBalancer" {
        for name in [
            "allocateLoadBalancerNodePorts",
            "loadBalancerClass",
            "healthCheckNodePort",
        ] {
            if unchanged(spec, name) {
                remove(spec, name);
            }
        }
        object_at(new, "status")["loadBalancer"] = json!({});
    }
}
