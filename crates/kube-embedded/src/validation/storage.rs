//! Validates volumes, claims and their provisioning.

use std::cmp::Ordering;

use serde_json::Value;

use super::errors::Errors;
use super::names;
use crate::defaults::fields::{copy, is_empty, items, object_at, text};
use crate::schema::quantity::Quantity;
use crate::status::{FieldError, FieldErrorKind};

const ACCESS: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// Fields of a volume that are not its source.
const PLAIN: [&str; 9] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];

fn access_modes(modes: &[Value], errors: &mut Errors) {
    for mode in modes {
        errors.one_of("spec.accessModes", mode, &ACCESS);
    }
    let known: Vec<&Value> = modes
        .iter()
        .filter(|m| ACCESS.contains(&m.as_str().unwrap_or("")))
        .collect();
    if known.len() > 1 && known.iter().any(|m| *m == "ReadWriteOncePod") {
        errors.forbidden(
            "spec.accessModes",
            "may not use ReadWriteOncePod with other access modes",
        );
    }
}

fn positive(field: &str, amount: &Value, errors: &mut Errors) {
    let parsed = amount.as_str().and_then(|a| Quantity::parse(a).ok());
    if parsed.is_some_and(|q| q.sign() != Ordering::Greater) {
        errors.invalid(field, amount.clone(), "must be greater than zero");
    }
}

fn sources(spec: &Value) -> Vec<(&String, &Value)> {
    let fields = spec.as_object().into_iter().flatten();
    fields
        .filter(|(name, v)| !PLAIN.contains(&name.as_str()) && v.is_object())
        .collect()
}

pub(super) fn persistent_volume(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let spec = &object["spec"];
    let modes = items(spec, "accessModes");
    if modes.is_empty() {
        errors.required("spec.accessModes");
    }
    access_modes(modes, errors);
    let capacity = &spec["capacity"];
    if is_empty(capacity) {
        errors.required("spec.capacity");
    }
    if capacity.get("storage").is_none() || capacity.as_object().is_some_and(|c| c.len() > 1) {
        errors.add(FieldError::not_supported(
            "spec.capacity",
            capacity.clone(),
            &["storage"],
        ));
    }
    for (name, amount) in capacity.as_object().into_iter().flatten() {
        let parsed = amount.as_str().and_then(|a| Quantity::parse(a).ok());
        if parsed.is_some_and(|q| q.sign() == Ordering::Less) {
            let shown = amount.clone();
            errors.invalid(
                format!("spec.capacity[{name}]"),
                shown,
                "must be a valid resource quantity",
            );
        }
        positive(&format!("spec.capacity[{name}]"), amount, errors);
    }
    errors.one_of(
        "spec.persistentVolumeReclaimPolicy",
        &spec["persistentVolumeReclaimPolicy"],
        &["Delete", "Recycle", "Retain"],
    );
    let sources = sources(spec);
    for (index, (name, source)) in sources.iter().enumerate() {
        if index > 0 {
            errors.forbidden(format!("spec.{name}"), "may not specify more than 1 volume type");
        } else if *name == "hostPath" && text(source, "path").is_empty() {
            errors.required("spec.hostPath.path");
        }
    }
    if sources.is_empty() {
        errors.required_because("spec", "must specify a volume type");
    }
    class_name(spec, errors);
    errors.one_of("spec.volumeMode", &spec["volumeMode"], &["Block", "Filesystem"]);
    if let Some(old) = old
        && self::sources(&old["spec"]) != sources
    {
        let field = "spec.persistentvolumesource";
        errors.forbidden(field, "spec.persistentvolumesource is immutable after creation");
    }
}

fn class_name(spec: &Value, errors: &mut Errors) {
    if let Some(class) = spec["storageClassName"].as_str().filter(|c| !c.is_empty()) {
        errors.problems("spec.storageClassName", class, names::subdomain(class));
    }
}

pub(super) fn persistent_volume_claim(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let spec = &object["spec"];
    let modes = items(spec, "accessModes");
    if modes.is_empty() {
        errors.required_because("spec.accessModes", "at least 1 access mode is required");
    }
    access_modes(modes, errors);
    match &spec["resources"]["requests"]["storage"] {
        Value::Null => errors.required("spec.resources[storage]"),
        amount => positive("spec.resources[storage]", amount, errors),
    }
    class_name(spec, errors);
    errors.one_of("spec.volumeMode", &spec["volumeMode"], &["Block", "Filesystem"]);
    let Some(old) = old else { return };
    let before = &old["spec"];
    let mut allowed = spec.clone();
    if text(before, "volumeName").is_empty() {
        copy(before, &mut allowed, "volumeName");
    }
    for name in ["volumeAttributesClassName", "storageClassName"] {
        if name != "storageClassName" || before[name].is_null() {
            copy(before, &mut allowed, name);
        }
    }
    let bound = text(&old["status"], "phase") == "Bound";
    if bound {
        copy(
            &before["resources"],
            object_at(&mut allowed, "resources"),
            "requests",
        );
    }
    if allowed != *before {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        errors.forbidden("spec", detail);
    }
    let parse = |v: &Value| v.as_str().and_then(|t| Quantity::parse(t).ok());
    let (now, was, has) = (
        parse(&spec["resources"]["requests"]["storage"]),
        parse(&before["resources"]["requests"]["storage"]),
        parse(&old["status"]["capacity"]["storage"]),
    );
    if let (Some(now), Some(was)) = (now, was)
        && now.compare(&was) == Ordering::Less
        && has.is_some_and(|has| now.compare(&has) == Ordering::Less)
    {
        errors.forbidden(
            "spec.resources.requests.storage",
            "field can not be less than status.capacity",
        );
    }
}

pub(super) fn storage_kind(kind: &str, object: &Value, old: Option<&Value>, errors: &mut Errors) {
    match (kind, old) {
        ("StorageClass", _) => storage_class(object, old, errors),
        ("CSIDriver", Some(old)) => {
            let (new, old) = (&object["spec"]["attachRequired"], &old["spec"]["attachRequired"]);
            errors.immutable("spec.attachedRequired", new, old);
        }
        ("VolumeAttachment", Some(old)) if old["spec"] != object["spec"] => {
            let spec = &object["spec"];
            let source = &spec["source"];
            let shown = format!(
                "{{\"Attacher\":{},\"Source\":{{\"PersistentVolumeName\":{},\"InlineVolumeSpec\":null}},\"NodeName\":{}}}",
                spec["attacher"], source["persistentVolumeName"], spec["nodeName"]
            );
            errors.add(FieldError::invalid("spec", spec.clone(), "field is immutable").showing(shown));
        }
        ("VolumeAttributesClass", Some(old)) => {
            for name in ["driverName", "parameters"] {
                if old[name] != object[name] {
                    errors.forbidden(name, &format!("updates to {name} are forbidden."));
                }
            }
        }
        _ => {}
    }
}

fn storage_class(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    if let Some(old) = old {
        for name in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
            errors.immutable(name, &object[name], &old[name]);
        }
        return;
    }
    match text(object, "provisioner") {
        "" => errors.required("provisioner"),
        name => errors.problems(
            "provisioner",
            &name.to_lowercase(),
            names::qualified(&name.to_lowercase()),
        ),
    }
    let parameters = object["parameters"].as_object();
    if parameters.is_some_and(|p| p.len() > 512) {
        errors.add(FieldError::new(
            FieldErrorKind::TooLong,
            "parameters",
            Value::Null,
            "may not be more than 512 bytes",
        ));
    }
    if parameters.is_some_and(|p| p.contains_key("")) {
        errors.invalid("parameters", "", "field can not be empty.");
    }
    errors.one_of("reclaimPolicy", &object["reclaimPolicy"], &["Delete", "Retain"]);
    errors.one_of(
        "volumeBindingMode",
        &object["volumeBindingMode"],
        &["Immediate", "WaitForFirstConsumer"],
    );
}
