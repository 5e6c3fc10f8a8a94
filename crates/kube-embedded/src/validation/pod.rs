//! Validates pods and pod templates.

use std::collections::BTreeSet;

use serde_json::Value;

use super::containers::{containers, ephemeral_containers, init_containers};
use super::errors::Errors;
use super::{metadata, names};
use crate::defaults::fields::{is_empty, items, text};

/// Validates a new pod.
pub(super) fn pod(object: &Value, errors: &mut Errors) {
    spec("spec", &object["spec"], errors);
    for (index, alias) in items(&object["spec"], "hostAliases").iter().enumerate() {
        let ip = text(alias, "ip");
        errors.problems(&format!("spec.hostAliases[{index}].ip"), ip, names::ip(ip));
    }
    image_spaces("spec", &object["spec"], errors);
    if !is_empty(&object["spec"]["ephemeralContainers"]) {
        errors.forbidden("spec.ephemeralContainers", "cannot be set on create");
    }
}

/// Validates a pod template.
pub(super) fn template(field: &str, template: &Value, errors: &mut Errors) {
    let inner = &template["metadata"];
    metadata::labels(&format!("{field}.labels"), &inner["labels"], errors);
    spec(&format!("{field}.spec"), &template["spec"], errors);
}

pub(super) fn spec(field: &str, spec: &Value, errors: &mut Errors) {
    let volumes = volumes(field, spec, errors);
    containers(field, spec, &volumes, errors);
    init_containers(field, spec, &volumes, errors);
    ephemeral_containers(field, spec, errors);
    errors.one_of(
        format!("{field}.restartPolicy"),
        &spec["restartPolicy"],
        &["Always", "OnFailure", "Never"],
    );
    errors.one_of(
        format!("{field}.dnsPolicy"),
        &spec["dnsPolicy"],
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
    );
    metadata::labels(&format!("{field}.nodeSelector"), &spec["nodeSelector"], errors);
    host_network(field, spec, errors);
    if let Some(account) = spec["serviceAccountName"].as_str().filter(|a| !a.is_empty()) {
        errors.problems(
            &format!("{field}.serviceAccountName"),
            account,
            names::subdomain(account),
        );
    }
    if let Some(node) = spec["nodeName"].as_str().filter(|n| !n.is_empty()) {
        errors.problems(&format!("{field}.nodeName"), node, names::subdomain(node));
    }
    affinity(field, spec, errors);
    if let Some(seconds) = spec["activeDeadlineSeconds"].as_i64()
        && !(1..=i64::from(i32::MAX)).contains(&seconds)
    {
        let at = format!("{field}.activeDeadlineSeconds");
        errors.invalid(at, seconds, "must be between 1 and 2147483647, inclusive");
    }
    for name in ["hostname", "subdomain"] {
        if let Some(value) = spec[name].as_str().filter(|v| !v.is_empty()) {
            errors.problems(&format!("{field}.{name}"), value, names::label(value));
        }
    }
    tolerations(
        &format!("{field}.tolerations"),
        items(spec, "tolerations"),
        errors,
    );
}

fn volumes(field: &str, spec: &Value, errors: &mut Errors) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for (index, volume) in items(spec, "volumes").iter().enumerate() {
        let at = format!("{field}.volumes[{index}]");
        let before = errors.0.len();
        volume_source(&at, volume, errors);
        let broken = errors.0.len() > before;
        let name = text(volume, "name");
        if name.is_empty() {
            errors.required(format!("{at}.name"));
        } else {
            errors.problems(&format!("{at}.name"), name, names::label(name));
        }
        if known.contains(name) {
            errors.duplicate(format!("{at}.name"), name);
        }
        if !broken && errors.0.len() == before {
            known.insert(name.to_owned());
        }
    }
    known
}

fn volume_source(at: &str, volume: &Value, errors: &mut Errors) {
    let sources: Vec<(&String, &Value)> = volume
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, source)| *name != "name" && !source.is_null())
        .collect();
    if sources.is_empty() {
        errors.required_because(at, "must specify a volume type");
    }
    for (index, (kind, source)) in sources.into_iter().enumerate() {
        if index > 0 {
            errors.forbidden(format!("{at}.{kind}"), "may not specify more than 1 volume type");
            continue;
        }
        let needed = match kind.as_str() {
            "secret" => "secretName",
            "configMap" => "name",
            "persistentVolumeClaim" => "claimName",
            "hostPath" => "path",
            _ => continue,
        };
        if text(source, needed).is_empty() {
            errors.required(format!("{at}.{kind}.{needed}"));
        }
    }
}

fn affinity(field: &str, spec: &Value, errors: &mut Errors) {
    let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    if required.is_object() && items(required, "nodeSelectorTerms").is_empty() {
        errors.required_because(
            format!(
                "{field}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
            ),
            "must have at least one node selector term",
        );
    }
    for (index, constraint) in items(spec, "topologySpreadConstraints").iter().enumerate() {
        let at = format!("{field}.topologySpreadConstraints[{index}]");
        if let Some(skew) = constraint["maxSkew"].as_i64().filter(|s| *s <= 0) {
            errors.invalid(format!("{at}.maxSkew"), skew, "must be greater than zero");
        }
        if text(constraint, "topologyKey").is_empty() {
            errors.required_because(format!("{at}.topologyKey"), "can not be empty");
        }
        errors.one_of(
            format!("{at}.whenUnsatisfiable"),
            &constraint["whenUnsatisfiable"],
            &["DoNotSchedule", "ScheduleAnyway"],
        );
    }
}

fn host_network(field: &str, spec: &Value, errors: &mut Errors) {
    if spec["hostNetwork"] != true {
        return;
    }
    for (index, container) in items(spec, "containers").iter().enumerate() {
        for (port_index, port) in items(container, "ports").iter().enumerate() {
            let host = port["hostPort"].as_i64().filter(|n| *n != 0);
            if let Some(host) = host.filter(|h| Some(*h) != port["containerPort"].as_i64()) {
                errors.invalid(
                    format!("{field}.containers[{index}].ports[{port_index}].hostPort"),
                    host,
                    "must match `containerPort` when `hostNetwork` is true",
                );
            }
        }
    }
}

fn tolerations(field: &str, list: &[Value], errors: &mut Errors) {
    for (index, toleration) in list.iter().enumerate() {
        let at = format!("{field}[{index}]");
        let (key, operator, effect) = (
            text(toleration, "key"),
            text(toleration, "operator"),
            text(toleration, "effect"),
        );
        if !key.is_empty() {
            errors.problems(&format!("{at}.key"), key, names::qualified(key));
        }
        if key.is_empty() && operator != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.invalid(format!("{at}.operator"), operator, detail);
        }
        if toleration["tolerationSeconds"].is_i64() && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.invalid(format!("{at}.effect"), effect, detail);
        }
        let value = text(toleration, "value");
        match operator {
            "Equal" | "" => errors.problems(&format!("{at}.operator"), value, names::label_value(value)),
            "Exists" if !value.is_empty() => {
                errors.invalid(
                    format!("{at}.operator"),
                    value,
                    "value must be empty when `operator` is 'Exists'",
                );
            }
            "Exists" => {}
            _ => errors.one_of(
                format!("{at}.operator"),
                &toleration["operator"],
                &["Equal", "Exists"],
            ),
        }
        if !effect.is_empty() {
            errors.one_of(
                format!("{at}.effect"),
                &toleration["effect"],
                &["NoSchedule", "PreferNoSchedule", "NoExecute"],
            );
        }
    }
}

fn image_spaces(field: &str, spec: &Value, errors: &mut Errors) {
    for list in ["containers", "initContainers"] {
        for (index, container) in items(spec, list).iter().enumerate() {
            let image = text(container, "image");
            if image.trim() != image {
                errors.invalid(
                    format!("{field}.{list}[{index}].image"),
                    image,
                    "must not have leading or trailing whitespace",
                );
            }
        }
    }
}
