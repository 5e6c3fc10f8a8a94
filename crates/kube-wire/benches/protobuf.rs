//! Measures the time to read a pod in protobuf: `cargo bench -p kube-wire --bench protobuf`. An argument selects a
//! single measurement by name.

#![expect(clippy::disallowed_types, reason = "measures wall-clock time")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_wire::protobuf::{Envelope, ListEncoder, ListEvent, ListReader, Schema, decode, encode};
use kube_wire::selector::Selector;
use kube_wire::{FieldMask, Identity};
use serde::Deserialize;
use serde_json::{Value, json};

/// A projection with few fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only deserialized")]
struct SmallPod {
    metadata: SmallMetadata,
    spec: SmallSpec,
    status: SmallStatus,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only deserialized")]
struct SmallMetadata {
    name: String,
    namespace: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only deserialized")]
struct SmallSpec {
    node_name: Option<String>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only deserialized")]
struct SmallStatus {
    phase: Option<String>,
}

fn main() {
    let pod = pod();
    let bytes = encode(&pod).expect("valid pod");
    let message = Envelope::parse(&bytes).expect("valid envelope").raw;
    let json = pod.to_string();
    let schema = Schema::of("v1", "Pod").expect("built-in kind");
    let (all, pruned) = (FieldMask::none(), FieldMask::managed_fields());
    let mut out = Vec::new();
    schema.prune(message, &pruned, &mut out).expect("valid pod");
    println!(
        "a pod of {} bytes of JSON, {} of protobuf, {} without managedFields",
        json.len(),
        message.len(),
        out.len()
    );
    measure("JSON to Pod", || {
        black_box(serde_json::from_slice::<Pod>(json.as_bytes()).expect("valid pod"));
    });
    let mut short = pod.clone();
    if let Some(metadata) = short["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    let short = short.to_string();
    measure("JSON without managedFields to Pod", || {
        black_box(serde_json::from_slice::<Pod>(short.as_bytes()).expect("valid pod"));
    });
    measure("to Pod", || {
        black_box(schema.decode::<Pod>(message, &all).expect("valid pod"));
    });
    measure("to Pod, without managedFields", || {
        black_box(schema.decode::<Pod>(message, &pruned).expect("valid pod"));
    });
    let one: Pod = schema.decode(message, &pruned).expect("valid pod");
    measure("clone of Pod, for the cost of allocations", || {
        black_box(one.clone());
    });
    measure("to a small struct", || {
        black_box(schema.decode::<SmallPod>(message, &all).expect("valid pod"));
    });
    measure("to ObjectMeta, without managedFields", || {
        black_box(
            schema
                .metadata::<ObjectMeta>(message, &pruned)
                .expect("valid pod"),
        );
    });
    measure("identity", || {
        black_box::<Identity<'_>>(schema.identity(black_box(message)).expect("valid pod"));
    });
    measure("label", || {
        black_box(schema.label(black_box(message), "tier").expect("valid pod"));
    });
    let selector: Selector = "app=web-7,tier in (front, back)".parse().expect("valid selector");
    measure("selector", || {
        black_box(schema.matches(black_box(message), &selector).expect("valid pod"));
    });
    let short = out.clone();
    measure("check, without managedFields", || {
        schema.check(black_box(&short)).expect("valid pod");
    });
    measure("prune managedFields", || {
        out.clear();
        schema
            .prune(black_box(message), &pruned, &mut out)
            .expect("valid pod");
    });
    cold(schema, message, &short);
    measure("to a JSON value", || {
        black_box(schema.decode::<Value>(message, &all).expect("valid pod"));
    });
    measure("to a JSON value, with decode()", || {
        black_box(decode(&bytes).expect("valid pod"));
    });
    list(message);
}

/// Measures with cold CPU caches.
fn cold(schema: Schema, message: &[u8], short: &[u8]) {
    let pruned = FieldMask::managed_fields();
    let mut out = Vec::new();
    measure_cold("check, without managedFields, cold", || {
        schema.check(black_box(short)).expect("valid pod");
    });
    measure_cold("prune managedFields, cold", || {
        out.clear();
        schema
            .prune(black_box(message), &pruned, &mut out)
            .expect("valid pod");
    });
    measure_cold("to Pod, without managedFields, cold", || {
        black_box(schema.decode::<Pod>(message, &pruned).expect("valid pod"));
    });
}

fn list(message: &[u8]) {
    let encoder = ListEncoder::new("v1", "PodList").expect("built-in kind");
    let items = encoder.encoded_item(message).repeat(1000);
    let head = encoder.head(&json!({}), items.len()).expect("valid metadata");
    let body = Bytes::from([&head[..], &items, encoder.tail()].concat());
    measure("list of 1000 pods in chunks of 16 KiB", || {
        let mut list = ListReader::new(1 << 20);
        for start in (0..body.len()).step_by(16 * 1024) {
            list.push(body.slice(start..body.len().min(start + 16 * 1024)));
            while let Some(event) = list.next().expect("valid list") {
                if let ListEvent::Item(item) = event {
                    black_box(item);
                }
            }
        }
        list.finish().expect("complete value");
    });
}

/// Returns whether the measurement is selected. Without an argument all are.
fn is_wanted(what: &str) -> bool {
    let named = std::env::args().nth(1).filter(|word| !word.starts_with("--"));
    named.is_none_or(|named| named == what)
}

/// Prints the minimum of many short rounds, which is the least disturbed by other processes.
fn measure(what: &str, mut run: impl FnMut()) {
    const ROUND: Duration = Duration::from_micros(500);
    if !is_wanted(what) {
        return;
    }
    let mut best = f64::MAX;
    for _ in 0..600 {
        let start = Instant::now();
        let mut runs = 0_u32;
        while start.elapsed() < ROUND {
            for _ in 0..8 {
                run();
            }
            runs += 8;
        }
        best = best.min(start.elapsed().as_secs_f64() / f64::from(runs));
    }
    println!("{:>9.2} µs  {what}", best * 1e6);
}

/// Prints the median of runs with cold CPU caches.
fn measure_cold(what: &str, mut run: impl FnMut()) {
    if !is_wanted(what) {
        return;
    }
    let mut other = vec![1_u8; 64 << 20];
    let mut took: Vec<Duration> = (0..301)
        .map(|_| {
            other
                .iter_mut()
                .step_by(64)
                .for_each(|byte| *byte = byte.wrapping_add(1));
            black_box(&other);
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    took.sort_unstable();
    println!("{:>9.2} µs  {what}", took[took.len() / 2].as_secs_f64() * 1e6);
}

/// A typical pod: two containers, probes, volumes, conditions, and managedFields that are half of it.
fn pod() -> Value {
    let time = "2026-01-02T03:04:05Z";
    let env: Vec<Value> = (0..12)
        .map(|at| match at % 4 {
            0 => json!({"name": format!("SECRET_{at}"), "valueFrom": {"secretKeyRef": {"name": "web-secrets", "key": "token"}}}),
            1 => json!({"name": format!("FIELD_{at}"), "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}),
            _ => json!({"name": format!("SETTING_{at}"), "value": format!("https://service-{at}.default.svc.cluster.local:8443")}),
        })
        .collect();
    let container = |name: &str| {
        json!({
            "name": name, "image": format!("registry.example.org/shop/{name}:1.27.3"), "imagePullPolicy": "IfNotPresent",
            "args": ["--verbose", "--config=/etc/web/config.yaml"], "env": env,
            "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}, {"name": "metrics", "containerPort": 9090, "protocol": "TCP"}],
            "resources": {"limits": {"cpu": "500m", "memory": "512Mi"}, "requests": {"cpu": "100m", "memory": "256Mi"}},
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"}, "initialDelaySeconds": 10, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
            "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080, "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
            "volumeMounts": [{"name": "config", "mountPath": "/etc/web"}, {"name": "kube-api-access", "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            "securityContext": {"runAsNonRoot": true, "readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
        })
    };
    let status = |name: &str| {
        json!({
            "name": name, "image": format!("registry.example.org/shop/{name}:1.27.3"), "ready": true, "restartCount": 1, "started": true,
            "imageID": format!("registry.example.org/shop/{name}@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
            "containerID": "containerd://0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "state": {"running": {"startedAt": time}},
            "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "startedAt": time, "finishedAt": time}},
        })
    };
    let condition = |name: &str| json!({"type": name, "status": "True", "lastProbeTime": null, "lastTransitionTime": time});
    let fields: Value = (0..60)
        .map(|at| {
            (
                format!("f:field{at}"),
                json!({".": {}, "f:name": {}, "f:value": {}, "k:{\"name\":\"x\"}": {}}),
            )
        })
        .collect::<serde_json::Map<_, _>>()
        .into();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "web-7-5d9c7b8f6d-x2x7p", "generateName": "web-7-5d9c7b8f6d-", "namespace": "shop-production",
            "uid": "0f3c1c5e-8d2b-4f3a-9c1e-2b7d4e5f6a7b", "resourceVersion": "123456789", "creationTimestamp": time,
            "labels": {"app": "web-7", "tier": "front", "pod-template-hash": "5d9c7b8f6d", "app.kubernetes.io/managed-by": "Helm", "topology.kubernetes.io/zone": "north-1"},
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9090", "checksum/config": "0123456789abcdef0123456789abcdef"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7-5d9c7b8f6d", "uid": "1f3c1c5e-8d2b-4f3a-9c1e-2b7d4e5f6a7b", "controller": true, "blockOwnerDeletion": true}],
            "managedFields": [
                {"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1", "time": time, "fieldsType": "FieldsV1", "fieldsV1": fields},
                {"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "time": time, "fieldsType": "FieldsV1", "subresource": "status", "fieldsV1": {"f:status": {"f:phase": {}}}},
            ],
        },
        "spec": {
            "volumes": [
                {"name": "config", "configMap": {"name": "web-config", "defaultMode": 420}},
                {"name": "kube-api-access", "projected": {"defaultMode": 420, "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                ]}},
            ],
            "containers": [container("web"), container("proxy")],
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "web", "serviceAccount": "web", "nodeName": "node-17.example.org", "securityContext": {"fsGroup": 1000},
            "schedulerName": "default-scheduler", "priority": 0, "enableServiceLinks": true, "preemptionPolicy": "PreemptLowerPriority",
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            ],
        },
        "status": {
            "phase": "Running", "hostIP": "10.0.0.17", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}], "startTime": time, "qosClass": "Burstable",
            "conditions": [condition("PodReadyToStartContainers"), condition("Initialized"), condition("Ready"), condition("ContainersReady"), condition("PodScheduled")],
            "containerStatuses": [status("web"), status("proxy")],
        },
    })
}
