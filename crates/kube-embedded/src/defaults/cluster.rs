//! Defaults of kinds that describe the cluster, its API and permissions.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::fields::{
    copy, each_item, first_of_many, is_empty, is_unset, object_at, remove, set_default, set_if_empty, text,
    with,
};

const RBAC: &str = "rbac.authorization.k8s.io";

/// Adds a label with the name to a namespace, for selectors.
pub(super) fn namespace(object: &mut Value) {
    let name = text(&object["metadata"], "name").to_owned();
    if !name.is_empty() {
        object_at(object_at(object, "metadata"), "labels")["kubernetes.io/metadata.name"] = name.into();
    }
    set_default(object_at(object, "status"), "phase", "Active");
}

/// Sets the allocatable resources of a node to its capacity by default.
pub(super) fn node(object: &mut Value) {
    with(object, "spec", |spec| {
        first_of_many(spec, "podCIDR", "podCIDRs", |cidr| cidr);
    });
    let status = object_at(object, "status");
    if is_empty(&status["allocatable"]) && !is_empty(&status["capacity"]) {
        status["allocatable"] = status["capacity"].clone();
    }
}

/// Moves `stringData` to `data`.
pub(super) fn secret(object: &mut Value) {
    if let Some(Value::Object(texts)) = remove(object, "stringData") {
        let data = object_at(object, "data");
        for (key, value) in texts {
            data[key] = STANDARD.encode(value.as_str().unwrap_or("")).into();
        }
    }
    set_default(object, "type", "Opaque");
}

pub(super) fn limit_range(object: &mut Value) {
    with(object, "spec", |spec| {
        each_item(spec, "limits", |limit| {
            if text(limit, "type") != "Container" {
                return;
            }
            fill(limit, "max", "default");
            fill(limit, "default", "defaultRequest");
            fill(limit, "min", "defaultRequest");
        });
    });
}

fn fill(limit: &mut Value, from: &str, to: &str) {
    let Some(amounts) = limit[from].as_object().cloned() else {
        return;
    };
    let target = object_at(limit, to);
    for (name, amount) in amounts {
        set_default(target, &name, amount);
    }
}

pub(super) fn role_binding(object: &mut Value) {
    set_if_empty(object_at(object, "roleRef"), "apiGroup", RBAC);
    each_item(object, "subjects", |subject| {
        if matches!(text(subject, "kind"), "User" | "Group") {
            set_default(subject, "apiGroup", RBAC);
        }
    });
}

pub(super) fn admission_registration(kind: &str, object: &mut Value) {
    match kind {
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            let mutating = kind.starts_with("Mutating");
            each_item(object, "webhooks", |webhook| {
                set_default(webhook, "failurePolicy", "Fail");
                set_default(webhook, "matchPolicy", "Equivalent");
                set_default(webhook, "namespaceSelector", json!({}));
                set_default(webhook, "objectSelector", json!({}));
                set_default(webhook, "timeoutSeconds", 10);
                if mutating {
                    set_default(webhook, "reinvocationPolicy", "Never");
                }
                each_item(webhook, "rules", |rule| set_default(rule, "scope", "*"));
                with(webhook, "clientConfig", service_port);
            });
        }
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => {
            let spec = object_at(object, "spec");
            set_default(spec, "failurePolicy", "Fail");
            with(spec, "matchConstraints", match_resources);
        }
        _ => with(object, "spec", |spec| {
            with(spec, "matchResources", match_resources);
        }),
    }
}

fn match_resources(resources: &mut Value) {
    set_default(resources, "matchPolicy", "Equivalent");
    set_default(resources, "namespaceSelector", json!({}));
    set_default(resources, "objectSelector", json!({}));
    for rules in ["resourceRules", "excludeResourceRules"] {
        each_item(resources, rules, |rule| set_default(rule, "scope", "*"));
    }
}

fn service_port(holder: &mut Value) {
    with(holder, "service", |service| set_default(service, "port", 443));
}

pub(super) fn custom_resource_definition(object: &mut Value) {
    let spec = object_at(object, "spec");
    let names = object_at(spec, "names");
    let kind = text(names, "kind").to_owned();
    set_default(names, "singular", kind.to_lowercase());
    if !kind.is_empty() {
        set_default(names, "listKind", format!("{kind}List"));
    }
    let conversion = object_at(spec, "conversion");
    set_if_empty(conversion, "strategy", "None");
    with(conversion, "webhook", |webhook| {
        with(webhook, "clientConfig", service_port);
    });
    let storage: Vec<Value> = super::fields::items(spec, "versions")
        .iter()
        .filter(|v| v["storage"] == true)
        .map(|v| v["name"].clone())
        .collect();
    let status = object_at(object, "status");
    if is_empty(&status["storedVersions"]) && !storage.is_empty() {
        status["storedVersions"] = storage.into();
    }
}

pub(super) fn api_service(object: &mut Value) {
    with(object, "spec", service_port);
}

pub(super) fn signing_request(object: &mut Value) {
    with(object, "status", |status| {
        let now = super::prepare::now();
        each_item(status, "conditions", |condition| {
            set_default(condition, "lastUpdateTime", now.clone());
            if is_unset(condition.get("lastTransitionTime")) {
                condition["lastTransitionTime"] = now.clone().into();
            }
        });
    });
}

pub(super) fn pod_certificate_request(object: &mut Value) {
    with(object, "spec", |spec| {
        set_default(spec, "maxExpirationSeconds", 86400);
    });
}

pub(super) fn pod_group(object: &mut Value) {
    set_default(object_at(object, "spec"), "disruptionMode", "Pod");
}

pub(super) fn flow_control(kind: &str, object: &mut Value) {
    let spec = object_at(object, "spec");
    if kind == "FlowSchema" {
        if spec["matchingPrecedence"] == 0 {
            remove(spec, "matchingPrecedence");
        }
        set_default(spec, "matchingPrecedence", 1000);
        return;
    }
    with(spec, "limited", |limited| {
        set_default(limited, "nominalConcurrencyShares", 30);
        set_default(limited, "lendablePercent", 0);
        with(limited, "limitResponse", |response| {
            with(response, "queuing", |queuing| {
                for (name, number) in [("handSize", 8), ("queueLengthLimit", 50), ("queues", 64)] {
                    if queuing[name] == 0 {
                        remove(queuing, name);
                    }
                    set_default(queuing, name, number);
                }
            });
        });
    });
    with(spec, "exempt", |exempt| {
        set_default(exempt, "nominalConcurrencyShares", 0);
        set_default(exempt, "lendablePercent", 0);
    });
}

pub(super) fn dynamic_resources(version: &str, kind: &str, object: &mut Value) {
    match kind {
        "ResourceClaim" => with(object, "spec", |spec| claim(version, spec)),
        "ResourceClaimTemplate" => with(object, "spec", |spec| {
            with(spec, "spec", |spec| claim(version, spec));
        }),
        "DeviceTaintRule" => with(object, "spec", |spec| with(spec, "taint", taint)),
        "ResourceSlice" => with(object, "spec", |spec| {
            each_item(spec, "devices", |device| {
                each_item(device, "taints", taint);
                with(device, "basic", |basic| each_item(basic, "taints", taint));
            });
        }),
        "ResourcePoolStatusRequest" => with(object, "spec", |spec| set_default(spec, "limit", 100)),
        _ => {}
    }
}

fn taint(taint: &mut Value) {
    if is_unset(taint.get("timeAdded")) {
        taint["timeAdded"] = super::prepare::now().into();
    }
}

fn claim(version: &str, spec: &mut Value) {
    with(spec, "devices", |devices| {
        each_item(devices, "requests", |request| {
            if version == "v1beta1" && !is_unset(request.get("deviceClassName")) {
                device_request(request);
            }
            with(request, "exactly", device_request);
            each_item(request, "firstAvailable", device_request);
        });
    });
}

fn device_request(request: &mut Value) {
    set_default(request, "allocationMode", "ExactCount");
    if text(request, "allocationMode") == "ExactCount" {
        if request["count"] == 0 {
            remove(request, "count");
        }
        set_default(request, "count", 1);
    }
    each_item(request, "tolerations", |toleration| {
        set_default(toleration, "operator", "Equal");
    });
}

/// Keeps the old and the new field for the source of a claim consistent.
pub(super) fn claim_sources(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").filter(|s| s.is_object()) else {
        return;
    };
    let snapshot = spec.clone();
    if !spec["dataSource"].is_null() && spec["dataSourceRef"].is_null() {
        spec["dataSourceRef"] = snapshot["dataSource"].clone();
    } else if !spec["dataSourceRef"].is_null() && spec["dataSource"].is_null() {
        let reference = &snapshot["dataSourceRef"];
        if is_unset(reference.get("namespace")) {
            copy(&json!({ "dataSource": reference }), spec, "dataSource");
        }
    }
    for name in ["dataSource", "dataSourceRef"] {
        if spec.get(name).is_some_and(Value::is_null) {
            remove(spec, name);
        }
    }
}
