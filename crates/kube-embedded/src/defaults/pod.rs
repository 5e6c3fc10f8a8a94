//! Defaults of pods and pod templates.

use serde_json::{Map, Value, json};

use super::fields::{each_item, first_of_many, is_unset, items, object_at, set_default, text, with};
use super::storage;

const FILE_MODE: i64 = 0o644;

/// Sets the defaults of a pod, including those that templates do not have.
pub(super) fn pod(object: &mut Value) {
    let spec = object_at(object, "spec");
    set_default(spec, "enableServiceLinks", true);
    pod_spec(spec);
    if spec["hostNetwork"] == true {
        for list in ["containers", "initContainers"] {
            each_item(spec, list, host_ports);
        }
    }
    for list in ["containers", "initContainers"] {
        each_item(spec, list, |container| {
            with(container, "resources", requests_from_limits);
        });
    }
    pod_level_requests(spec);
    with(object, "status", |status| {
        first_of_many(status, "podIP", "podIPs", |ip| json!({ "ip": ip }));
    });
}

/// Sets the defaults of a pod template.
pub(super) fn template(template: &mut Value) {
    object_at(template, "metadata");
    pod_spec(object_at(template, "spec"));
}

fn pod_spec(spec: &mut Value) {
    set_default(spec, "dnsPolicy", "ClusterFirst");
    set_default(spec, "restartPolicy", "Always");
    set_default(spec, "securityContext", json!({}));
    set_default(spec, "terminationGracePeriodSeconds", 30);
    set_default(spec, "schedulerName", "default-scheduler");
    let account = match text(spec, "serviceAccountName") {
        "" => text(spec, "serviceAccount").to_owned(),
        name => name.to_owned(),
    };
    if !account.is_empty() {
        spec["serviceAccountName"] = account.clone().into();
        spec["serviceAccount"] = account.into();
    }
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        each_item(spec, list, container);
    }
    each_item(spec, "volumes", volume);
}

fn container(container: &mut Value) {
    set_default(container, "terminationMessagePath", "/dev/termination-log");
    set_default(container, "terminationMessagePolicy", "File");
    let policy = pull_policy(text(container, "image"));
    set_default(container, "imagePullPolicy", policy);
    each_item(container, "ports", |port| set_default(port, "protocol", "TCP"));
    each_item(container, "env", |variable| {
        with(variable, "valueFrom", |source| {
            with(source, "fieldRef", field_ref);
        });
        with(variable, "valueFrom", |source| {
            with(source, "fileKeyRef", |file| set_default(file, "optional", false));
        });
    });
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        with(container, name, probe);
    }
    with(container, "lifecycle", |lifecycle| {
        for name in ["postStart", "preStop"] {
            with(lifecycle, name, |handler| with(handler, "httpGet", http_get));
        }
    });
}

fn probe(probe: &mut Value) {
    set_default(probe, "timeoutSeconds", 1);
    set_default(probe, "periodSeconds", 10);
    set_default(probe, "successThreshold", 1);
    set_default(probe, "failureThreshold", 3);
    with(probe, "httpGet", http_get);
    with(probe, "grpc", |grpc| set_default(grpc, "service", ""));
}

fn http_get(action: &mut Value) {
    set_default(action, "path", "/");
    set_default(action, "scheme", "HTTP");
}

fn field_ref(field: &mut Value) {
    set_default(field, "apiVersion", "v1");
}

/// Returns the default pull policy: `Always` for images without tag and digest, or with tag `latest`.
fn pull_policy(image: &str) -> &'static str {
    let (name, digest) = image.split_once('@').map_or((image, None), |(n, d)| (n, Some(d)));
    let last = name.rsplit('/').next().unwrap_or(name);
    let (domain, path) = name.split_once('/').unwrap_or(("", name));
    let path = if domain.contains(['.', ':']) || domain == "localhost" {
        path
    } else {
        name
    };
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-/".contains(&b);
    let valid = !path.is_empty() && path.bytes().all(fits) && !path.ends_with(['.', '_', '-', '/']);
    match (last.split_once(':').map(|(_, tag)| tag), digest) {
        (Some("latest"), None) => "Always",
        (None, None) if valid => "Always",
        _ => "IfNotPresent",
    }
}

fn host_ports(container: &mut Value) {
    each_item(container, "ports", |port| {
        let number = port["containerPort"].clone();
        if number.as_i64().is_some_and(|n| n != 0) {
            set_default(port, "hostPort", number);
        }
    });
}

fn requests_from_limits(resources: &mut Value) {
    let Some(limits) = resources["limits"].as_object().cloned() else {
        return;
    };
    let requests = object_at(resources, "requests");
    for (name, limit) in limits {
        set_default(requests, &name, limit);
    }
}

/// Sets missing requests of a pod to its limits, except for resources that containers request.
fn pod_level_requests(spec: &mut Value) {
    let Some(limits) = spec["resources"]["limits"].as_object().cloned() else {
        return;
    };
    let asked: Vec<String> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| items(spec, list))
        .filter_map(|c| c["resources"]["requests"].as_object())
        .flat_map(Map::keys)
        .cloned()
        .collect();
    let requests = object_at(object_at(spec, "resources"), "requests");
    for (name, limit) in limits {
        if !asked.contains(&name) {
            set_default(requests, &name, limit);
        }
    }
}

fn volume(volume: &mut Value) {
    let sourceless = volume
        .as_object()
        .is_some_and(|fields| fields.iter().all(|(name, v)| name == "name" || v.is_null()));
    if sourceless {
        volume["emptyDir"] = json!({});
    }
    for name in ["secret", "configMap"] {
        with(volume, name, |source| {
            set_default(source, "defaultMode", FILE_MODE);
        });
    }
    with(volume, "downwardAPI", |source| {
        set_default(source, "defaultMode", FILE_MODE);
        each_item(source, "items", |item| with(item, "fieldRef", field_ref));
    });
    with(volume, "projected", |source| {
        set_default(source, "defaultMode", FILE_MODE);
        each_item(source, "sources", |source| {
            with(source, "serviceAccountToken", |token| {
                set_default(token, "expirationSeconds", 3600);
            });
            with(source, "downwardAPI", |source| {
                each_item(source, "items", |item| with(item, "fieldRef", field_ref));
            });
            with(source, "podCertificate", |certificate| {
                set_default(certificate, "maxExpirationSeconds", 86400);
            });
        });
    });
    with(volume, "ephemeral", |source| {
        with(source, "volumeClaimTemplate", |template| {
            set_default(object_at(template, "spec"), "volumeMode", "Filesystem");
        });
    });
    with(volume, "image", |source| {
        let policy = pull_policy(text(source, "reference"));
        set_default(source, "pullPolicy", policy);
    });
    storage::volume_source(volume);
}

/// Returns the quality of service of a pod, which depends on its requests and limits of CPU and memory.
pub(crate) fn quality(spec: &Value) -> &'static str {
    let positive = |v: &Value| !is_unset(Some(v)) && v != "0";
    let (mut any, mut guaranteed) = (false, true);
    let all = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| items(spec, list))
        .map(|c| &c["resources"]);
    let own = &spec["resources"];
    let resources: Vec<&Value> = if own.is_object() { vec![own] } else { all.collect() };
    for resources in resources {
        for name in ["cpu", "memory"] {
            let (request, limit) = (&resources["requests"][name], &resources["limits"][name]);
            any |= positive(request) || positive(limit);
            guaranteed &= positive(limit) && request == limit;
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
