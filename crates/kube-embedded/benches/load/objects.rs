//! The objects of the benchmark.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

/// Returns a pod of about 12 KB. Names, images, environments, labels and annotations differ from pod to pod.
pub(crate) fn pod(n: usize) -> Value {
    let app = format!("app-{}", n % 977);
    let word = |k: usize| format!("{:08x}", (n * 2_654_435_761 + k * 40503) % (1 << 32));
    let environment = |c: usize| -> Vec<Value> {
        (0..12).map(|k| json!({ "name": format!("SETTING_{k}"), "value": format!("{}-{}-{}", app, word(k + c), word(k * 7)) })).collect()
    };
    let container = |c: usize| {
        json!({
            "name": format!("c{c}"),
            "image": format!("registry.example/{app}/part{c}:{}.{}", n % 7, n % 31),
            "args": ["--config", format!("/etc/{app}/config.yaml"), format!("--shard={}", n % 16)],
            "env": environment(c),
            "ports": [{ "name": "http", "containerPort": 8080 + c }],
            "resources": { "requests": { "cpu": "250m", "memory": "512Mi" }, "limits": { "memory": "1Gi" } },
            "volumeMounts": [{ "name": "config", "mountPath": format!("/etc/{app}") }, { "name": "data", "mountPath": "/data" }],
            "livenessProbe": { "httpGet": { "path": "/healthz", "port": "http" } },
            "readinessProbe": { "httpGet": { "path": "/readyz", "port": "http" } },
        })
    };
    let mut notes = String::new();
    for k in 0..90 {
        let _ = write!(notes, "{} {} ", word(k), word(k * 3));
    }
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("{app}-{}-{n:06}", word(1)),
            "namespace": "default",
            "labels": { "app": app, "hash": word(2), "tier": format!("t{}", n % 4), "zone": format!("z{}", n % 3) },
            "annotations": { "example.com/notes": notes, "example.com/checksum": word(5) },
        },
        "spec": {
            "nodeName": format!("node-{}", n % 500),
            "serviceAccountName": app,
            "containers": [container(0), container(1), container(2)],
            "volumes": [
                { "name": "config", "configMap": { "name": format!("{app}-config") } },
                { "name": "data", "emptyDir": {} },
            ],
        },
    })
}

/// Returns a definition with 54 properties, most of which have defaults.
pub(crate) fn definition() -> Value {
    let group = json!({
        "type": "object",
        "default": {},
        "properties": {
            "mode": { "type": "string", "enum": ["Fast", "Safe"], "default": "Safe" },
            "replicas": { "type": "integer", "format": "int32", "minimum": 0, "default": 1 },
            "enabled": { "type": "boolean", "default": true },
            "image": { "type": "string", "maxLength": 200 },
            "labels": { "type": "object", "additionalProperties": { "type": "string" } },
            "limits": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                        "name": { "type": "string" },
                        "amount": { "type": "integer", "default": 10 },
                        "unit": { "type": "string", "default": "Mi" },
                    },
                },
            },
        },
    });
    let groups: Map<String, Value> = (0..5).map(|n| (format!("part{n}"), group.clone())).collect();
    let status = json!({
        "type": "object",
        "properties": { "phase": { "type": "string" }, "ready": { "type": "integer", "default": 0 } },
    });
    let schema = json!({
        "type": "object",
        "properties": { "spec": { "type": "object", "properties": groups }, "status": status },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "gadgets.bench.example" },
        "spec": {
            "group": "bench.example",
            "scope": "Namespaced",
            "names": { "plural": "gadgets", "kind": "Gadget" },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": schema },
                "subresources": { "status": {} },
            }],
        },
    })
}

/// Returns a custom resource without some of the fields that have defaults.
pub(crate) fn gadget(n: usize) -> Value {
    let part = |k: usize| {
        json!({
            "image": format!("registry.example/part{k}:{}.{}", n % 7, n % 31),
            "replicas": n % 5,
            "labels": { "app": format!("app-{}", n % 97), "tier": format!("t{}", n % 4) },
            "limits": [{ "name": "cpu", "amount": n % 11 }, { "name": "memory", "unit": "Gi" }, { "name": "disk" }],
        })
    };
    json!({
        "apiVersion": "bench.example/v1",
        "kind": "Gadget",
        "metadata": { "name": format!("g{n}"), "namespace": "default", "labels": { "app": format!("app-{}", n % 97) } },
        "spec": { "part0": part(0), "part1": part(1), "part2": part(2), "part3": { "mode": "Fast" } },
    })
}
