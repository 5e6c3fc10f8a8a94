//! Validates nodes, quotas, events, leases and the kinds of the API itself.

use std::cmp::Ordering;

use serde_json::Value;

use super::errors::Errors;
use super::names;
use crate::defaults::fields::{is_empty, items, text};
use crate::schema::quantity::Quantity;
use crate::status::{FieldError, FieldErrorKind};

/// Maximum priority of a class of a user.
const MAX_USER_PRIORITY: i64 = 1_000_000_000;

pub(super) fn node(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    for (index, taint) in items(&object["spec"], "taints").iter().enumerate() {
        // The real server also names `metadata`.
        let field = format!("metadata.taints[{index}].effect");
        if text(taint, "effect").is_empty() {
            errors.required(field);
        } else {
            errors.one_of(
                field,
                &taint["effect"],
                &["NoSchedule", "PreferNoSchedule", "NoExecute"],
            );
        }
    }
    let Some(old) = old else { return };
    let was = text(&old["spec"], "providerID");
    if !was.is_empty() && was != text(&object["spec"], "providerID") {
        let detail = "node updates may not change providerID except from \"\" to valid";
        errors.forbidden("spec.providerID", detail);
    }
}

pub(super) fn namespace(object: &Value, errors: &mut Errors) {
    for finalizer in items(&object["spec"], "finalizers")
        .iter()
        .filter_map(Value::as_str)
    {
        errors.problems("spec.finalizers", finalizer, names::qualified(finalizer));
        if !finalizer.contains('/') && !matches!(finalizer, "kubernetes" | "orphan" | "foregroundDeletion") {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.invalid("spec.finalizers", finalizer, detail);
        }
    }
}

pub(super) fn resource_quota(object: &Value, errors: &mut Errors) {
    for (name, amount) in object["spec"]["hard"].as_object().into_iter().flatten() {
        let at = format!("spec.hard[{name}]");
        let problems = names::qualified(name);
        let known = problems.is_empty();
        errors.problems(&at, name, problems);
        if !name.contains('/') && !is_quota(name) {
            if known {
                let detail = "must be a standard resource type or fully qualified";
                errors.invalid(at.clone(), name.as_str(), detail);
            }
            errors.invalid(at.clone(), name.as_str(), "must be a standard resource for quota");
        }
        if amount
            .as_str()
            .and_then(|a| Quantity::parse(a).ok())
            .is_some_and(|q| q.sign() == Ordering::Less)
        {
            errors.invalid(at, amount.clone(), "must be greater than or equal to 0");
        }
    }
    let scopes = items(&object["spec"], "scopes");
    let known = [
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "PriorityClass",
        "CrossNamespacePodAffinity",
        "VolumeAttributesClass",
    ];
    if scopes.iter().any(|s| !known.contains(&s.as_str().unwrap_or(""))) {
        errors.invalid("spec.scopes", Value::from(scopes.to_vec()), "unsupported scope");
    }
}

/// Returns whether a quota can limit a resource without a domain.
fn is_quota(name: &str) -> bool {
    let (_, bare) = name
        .split_once('.')
        .filter(|(side, _)| matches!(*side, "requests" | "limits"))
        .unwrap_or(("", name));
    let counted = [
        "configmaps",
        "cpu",
        "ephemeral-storage",
        "memory",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
        "storage",
    ];
    counted.contains(&bare) || bare.starts_with("hugepages-")
}

/// Validates an event of either group. Events with an exact time have more required fields.
pub(super) fn event(group: &str, object: &Value, errors: &mut Errors) {
    let newer = group == "events.k8s.io";
    if object["eventTime"].is_null() {
        let about = if newer { "regarding" } else { "involvedObject" };
        let (namespace, own) = (
            text(&object[about], "namespace"),
            text(&object["metadata"], "namespace"),
        );
        if !namespace.is_empty() && namespace != own {
            errors.invalid(
                "involvedObject.namespace",
                namespace,
                "does not match event.namespace",
            );
        }
        if newer {
            errors.required("eventTime");
        }
    } else {
        let controller = if newer {
            "reportingController"
        } else {
            "reportingComponent"
        };
        let name = text(object, controller);
        if name.is_empty() {
            errors.required(controller);
        }
        errors.problems(controller, name, names::qualified(name));
        for field in ["reportingInstance", "action", "reason"] {
            if text(object, field).is_empty() {
                errors.required(field);
            }
        }
    }
    if !newer {
        return;
    }
    super::metadata::metadata(group, "Event", &object["metadata"], errors);
    let kind = text(object, "type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.invalid("type", "", &format!("has invalid value: {kind}"));
    }
}

pub(super) fn webhooks(object: &Value, errors: &mut Errors) {
    for (index, webhook) in items(object, "webhooks").iter().enumerate() {
        let at = format!("webhooks[{index}]");
        let name = text(webhook, "name");
        let problems = if name.is_empty() {
            Vec::new()
        } else {
            names::subdomain(name)
        };
        if name.is_empty() {
            errors.required(format!("{at}.name"));
        } else if problems.is_empty() && name.split('.').count() < 3 {
            let detail = "should be a domain with at least three segments separated by dots";
            errors.invalid(format!("{at}.name"), name, detail);
        }
        errors.problems(&format!("{at}.name"), name, problems);
        let effects = &webhook["sideEffects"];
        if effects.is_null() {
            errors.required_because(
                format!("{at}.sideEffects"),
                "must specify one of None, NoneOnDryRun",
            );
        } else {
            errors.one_of(format!("{at}.sideEffects"), effects, &["None", "NoneOnDryRun"]);
        }
        if let Some(seconds) = webhook["timeoutSeconds"]
            .as_i64()
            .filter(|s| !(1..=30).contains(s))
        {
            let detail = "the timeout value must be between 1 and 30 seconds";
            errors.invalid(format!("{at}.timeoutSeconds"), seconds, detail);
        }
        let config = &webhook["clientConfig"];
        if is_empty(&config["url"]) == config["service"].is_null() {
            errors.required_because(
                format!("{at}.clientConfig"),
                "exactly one of url or service is required",
            );
        }
        let versions = items(webhook, "admissionReviewVersions");
        if versions.is_empty() {
            errors.required_because(
                format!("{at}.admissionReviewVersions"),
                "must specify one of v1, v1beta1",
            );
        }
    }
}

pub(super) fn api_service(object: &Value, errors: &mut Errors) {
    let spec = &object["spec"];
    let (group, version) = (text(spec, "group"), text(spec, "version"));
    let name = text(&object["metadata"], "name");
    let wanted = format!("{version}.{group}");
    if !name.is_empty() && name != wanted {
        let detail = format!("must be `spec.version+\".\"+spec.group`: {wanted:?}");
        errors.invalid("metadata.name", name, &detail);
    }
    if group.is_empty() && version != "v1" {
        let detail = "only v1 may have an empty group and it better be legacy kube";
        errors.required_because("spec.group", detail);
    }
    if !group.is_empty() {
        errors.problems("spec.group", group, names::subdomain(group));
    }
    errors.problems("spec.version", version, names::label_1035(version));
    for (name, limit) in [("groupPriorityMinimum", 20000), ("versionPriority", 1000)] {
        let number = spec[name].as_i64().unwrap_or(0);
        if !(1..=limit).contains(&number) {
            errors.invalid(
                format!("spec.{name}"),
                number,
                &format!("must be positive and less than {limit}"),
            );
        }
    }
}

pub(super) fn signing_request(object: &Value, errors: &mut Errors) {
    let spec = &object["spec"];
    if is_empty(&spec["request"]) {
        let detail = "PEM block type must be CERTIFICATE REQUEST";
        errors.invalid("spec.request", Value::Null, detail);
    }
    if is_empty(&spec["usages"]) {
        errors.required("spec.usages");
    }
    if is_empty(&spec["signerName"]) {
        errors.required("spec.signerName");
    }
}

pub(super) fn pod_certificate(spec: &Value, errors: &mut Errors) {
    for (name, is_uid) in [
        ("podUID", true),
        ("serviceAccountName", false),
        ("serviceAccountUID", true),
        ("nodeName", false),
        ("nodeUID", true),
    ] {
        let value = text(spec, name);
        if !is_uid {
            errors.problems(&format!("spec.{name}"), value, names::subdomain(value));
        } else if value.is_empty() {
            errors.invalid(format!("spec.{name}"), "", "must not be empty");
        }
    }
    let (stub, key) = (
        !is_empty(&spec["stubPKCS10Request"]),
        !is_empty(&spec["pkixPublicKey"]),
    );
    if stub == key {
        let what = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
        errors.add(FieldError::invalid("spec", Value::Null, "").showing(what));
    }
}

pub(super) fn priority_class(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    if let Some(old) = old {
        if old["value"] != object["value"] {
            errors.forbidden("value", "may not be changed in an update.");
        }
        errors.immutable(
            "preemptionPolicy",
            &object["preemptionPolicy"],
            &old["preemptionPolicy"],
        );
        return;
    }
    let name = text(&object["metadata"], "name");
    if name.starts_with("system-") {
        if !matches!(name, "system-node-critical" | "system-cluster-critical") {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known system priority class"
            );
            errors.forbidden("metadata.name", &detail);
        }
    } else if object["value"].as_i64().unwrap_or(0) > MAX_USER_PRIORITY {
        let detail = format!("maximum allowed value of a user defined priority is {MAX_USER_PRIORITY}");
        errors.forbidden("value", &detail);
    }
    if text(object, "preemptionPolicy").is_empty() {
        errors.required("preemptionPolicy");
        return;
    }
    errors.one_of(
        "preemptionPolicy",
        &object["preemptionPolicy"],
        &["PreemptLowerPriority", "Never"],
    );
}

pub(super) fn lease(spec: &Value, errors: &mut Errors) {
    if let Some(seconds) = spec["leaseDurationSeconds"].as_i64().filter(|s| *s <= 0) {
        errors.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0");
    }
    errors.not_negative("spec.leaseTransitions", &spec["leaseTransitions"]);
}

pub(super) fn runtime_class(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let handler = text(object, "handler");
    match old {
        Some(old) => errors.immutable("handler", &object["handler"], &old["handler"]),
        None if handler.is_empty() => errors.required("handler"),
        None => errors.problems("handler", handler, names::label(handler)),
    }
}

pub(super) fn priority_level(object: &Value, errors: &mut Errors) {
    let (name, kind) = (text(&object["metadata"], "name"), text(&object["spec"], "type"));
    if kind.is_empty() {
        errors.required("spec.type");
    } else if (kind == "Exempt") != (name == "exempt") {
        let detail = "must be 'Exempt' if and only if `name` is 'exempt'";
        errors.add(FieldError::new(
            FieldErrorKind::Invalid,
            "spec.type",
            kind,
            detail,
        ));
    }
}
