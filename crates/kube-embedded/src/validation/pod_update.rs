//! Validates changes of pods.

use serde_json::Value;

use super::containers;
use super::errors::Errors;
use super::resources::resources;
use crate::defaults::fields::{copy, items, object_at, remove, text};

const FORBIDDEN: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Validates an update of a pod.
pub(super) fn pod(new: &Value, old: &Value, errors: &mut Errors) {
    let (spec, before) = (&new["spec"], &old["spec"]);
    if spec == before {
        let quality = &new["status"]["qosClass"];
        if !old["status"]["qosClass"].is_null() {
            errors.immutable("status.qosClass", quality, &old["status"]["qosClass"]);
        }
        return;
    }
    for list in ["containers", "initContainers"] {
        for (index, container) in items(spec, list).iter().enumerate() {
            if text(container, "image").is_empty() {
                errors.required(format!("spec.{list}[{index}].image"));
            }
        }
    }
    if let Some(seconds) = before["activeDeadlineSeconds"].as_i64() {
        match spec["activeDeadlineSeconds"].as_i64() {
            Some(now) if now > seconds => {
                errors.invalid(
                    "spec.activeDeadlineSeconds",
                    now,
                    "must be less than or equal to previous value",
                );
                return;
            }
            None => {
                let detail = "must not update from a positive integer to nil value";
                errors.invalid("spec.activeDeadlineSeconds", Value::Null, detail);
                return;
            }
            Some(_) => {}
        }
    }
    let kept = items(before, "tolerations").iter().all(|t| {
        items(spec, "tolerations")
            .iter()
            .any(|n| equal_except_seconds(t, n))
    });
    if !kept {
        errors.forbidden(
            "spec.tolerations",
            "existing toleration can not be modified except its tolerationSeconds",
        );
        return;
    }
    let mut allowed = spec.clone();
    for list in ["containers", "initContainers"] {
        let originals = items(before, list);
        if let Some(Value::Array(containers)) = allowed.get_mut(list)
            && containers.len() == originals.len()
        {
            for (container, original) in containers.iter_mut().zip(originals) {
                copy(original, container, "image");
            }
        }
    }
    for name in ["activeDeadlineSeconds", "tolerations"] {
        copy(before, &mut allowed, name);
    }
    if before["terminationGracePeriodSeconds"]
        .as_i64()
        .is_some_and(|s| s < 0)
        && spec["terminationGracePeriodSeconds"] == 1
    {
        copy(before, &mut allowed, "terminationGracePeriodSeconds");
    }
    if allowed != *before && !only_gates_changed(&mut allowed, before) {
        errors.forbidden("spec", FORBIDDEN);
    }
}

fn equal_except_seconds(old: &Value, new: &Value) -> bool {
    let plain = |t: &Value| {
        let mut t = t.clone();
        remove(&mut t, "tolerationSeconds");
        t
    };
    plain(old) == plain(new)
}

/// Returns whether a pod only lost scheduling gates, or changed its node selector or affinity while it had gates.
///
/// Resets these fields in `allowed`.
fn only_gates_changed(allowed: &mut Value, before: &Value) -> bool {
    let gates = items(before, "schedulingGates");
    let remain = items(allowed, "schedulingGates")
        .iter()
        .all(|g| gates.contains(g));
    if gates.is_empty() || !remain {
        return false;
    }
    for name in ["schedulingGates", "nodeSelector", "affinity"] {
        copy(before, allowed, name);
    }
    object_at(allowed, "securityContext");
    *allowed == *before
}

/// Validates ephemeral containers: they can be added, but not changed.
pub(super) fn ephemeral_containers(new: &Value, old: &Value, errors: &mut Errors) {
    let spec = &new["spec"];
    containers::ephemeral_containers("spec", spec, errors);
    let given = items(spec, "ephemeralContainers");
    for before in items(&old["spec"], "ephemeralContainers") {
        let name = text(before, "name");
        let what = match given.iter().find(|c| text(c, "name") == name) {
            None => "removed",
            Some(now) if now != before => "changed",
            Some(_) => continue,
        };
        let detail = format!("existing ephemeral containers {name:?} may not be {what}\n");
        errors.forbidden("spec.ephemeralContainers", &detail);
    }
}

/// Validates requests and limits of a running pod.
pub(super) fn resize(new: &Value, old: &Value, errors: &mut Errors) {
    let (was, is) = (
        &old["status"]["qosClass"],
        crate::defaults::quality_of_service(&new["spec"]),
    );
    for (index, container) in items(&new["spec"], "containers").iter().enumerate() {
        let at = format!("spec.containers[{index}].resources");
        resources(&at, &container["resources"], errors);
    }
    if was.as_str().is_some_and(|was| was != is) {
        let detail = "Pod QOS Class may not change as a result of resizing";
        errors.invalid("spec", was.clone(), detail);
    }
    let before = items(&old["spec"], "containers");
    for (index, (container, before)) in items(&new["spec"], "containers").iter().zip(before).enumerate() {
        for side in ["limits", "requests"] {
            let lost = before["resources"][side]
                .as_object()
                .into_iter()
                .flatten()
                .any(|(name, _)| container["resources"][side].get(name).is_none());
            if lost {
                let detail = format!("resource {side} cannot be removed");
                errors.forbidden(format!("spec.containers[{index}].resources.{side}"), &detail);
            }
        }
    }
}
