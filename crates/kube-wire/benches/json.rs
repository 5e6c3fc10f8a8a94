//! Measures the time to read a pod in JSON: `cargo bench -p kube-wire --bench json`.
#![expect(clippy::disallowed_types, reason = "measures wall-clock time")]

use std::hint::black_box;
use std::time::Instant;

use bytes::Bytes;
use k8s_openapi::api::core::v1::Pod;
use kube_wire::json::{self, ListReader};
use kube_wire::{FieldMask, selector::Selector};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[expect(dead_code, reason = "only deserialized")]
struct SmallPod {
    metadata: SmallMetadata,
    spec: SmallSpec,
    status: SmallStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only deserialized")]
struct SmallMetadata {
    name: String,
    namespace: String,
    resource_version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only deserialized")]
struct SmallSpec {
    node_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only deserialized")]
struct SmallStatus {
    phase: Option<String>,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
}

fn main() {
    let pod = pod().into_bytes();
    println!("a pod of {} bytes", pod.len());
    let mask = FieldMask::managed_fields();
    let everything = FieldMask::none();
    let selector: Selector = "app=web,tier in (front,back)".parse().expect("a selector");
    let mut out = Vec::with_capacity(pod.len());

    measure("serde_json, Pod", pod.len(), || {
        serde_json::from_slice::<Pod>(&pod).is_ok()
    });
    measure("decode, Pod", pod.len(), || {
        json::decode::<Pod>(&pod, &everything).is_ok()
    });
    measure("decode, Pod without managedFields", pod.len(), || {
        json::decode::<Pod>(&pod, &mask).is_ok()
    });
    measure("serde_json, small struct", pod.len(), || {
        serde_json::from_slice::<SmallPod>(&pod).is_ok()
    });
    measure("decode, small struct without managedFields", pod.len(), || {
        json::decode::<SmallPod>(&pod, &mask).is_ok()
    });
    measure("identity", pod.len(), || json::identity(&pod).is_ok());
    measure("head (of a list item, read to its end)", pod.len(), || {
        json::head(&pod).is_ok()
    });
    measure("metadata, small struct", pod.len(), || {
        json::metadata::<SmallMetadata>(&pod, &mask).is_ok()
    });
    measure("matches", pod.len(), || json::matches(&pod, &selector).is_ok());
    measure("prune", pod.len(), || {
        out.clear();
        json::prune(&pod, &mask, &mut out).is_ok()
    });
    println!("pruned to {} bytes", out.len());
    let pruned = out.clone();
    measure("decode, Pod, of pruned text", pruned.len(), || {
        json::decode::<Pod>(&pruned, &everything).is_ok()
    });

    let event = [br#"{"type":"MODIFIED","object":"#, &*pod, b"}"].concat();
    measure("watch_event", event.len(), || json::watch_event(&event).is_ok());
    let body = [
        br#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":["#,
        &*vec![pod.clone(); 500].join(&b","[..]),
        b"]}",
    ]
    .concat();
    for size in [16 << 10, 256 << 10, body.len()] {
        let body = Bytes::from(body.clone());
        let pieces: Vec<Bytes> = (0..body.len())
            .step_by(size)
            .map(|at| body.slice(at..body.len().min(at + size)))
            .collect();
        measure(
            &format!("list of 500 in chunks of {} KiB", size >> 10),
            body.len(),
            || {
                let mut reader = ListReader::new(1 << 20);
                for piece in &pieces {
                    reader.push(piece.clone());
                    while let Ok(Some(item)) = reader.next_item() {
                        black_box(item);
                    }
                }
                reader.finish().is_ok()
            },
        );
    }
}

/// Prints the minimum of several rounds, which is the least disturbed by other processes.
fn measure(what: &str, bytes: usize, mut work: impl FnMut() -> bool) {
    let times = (1_000_000 / bytes).max(1);
    let mut best = f64::INFINITY;
    for _ in 0..200 {
        let start = Instant::now();
        for _ in 0..times {
            assert!(black_box(work()), "{what}");
        }
        best =
            best.min(start.elapsed().as_secs_f64() / f64::from(u32::try_from(times).expect("fits in u32")));
    }
    #[expect(clippy::cast_precision_loss, reason = "only for output")]
    let rate = bytes as f64 / best / 1e9;
    println!("{what:45} {:9.2} µs {rate:7.2} GB/s", best * 1e6);
}

/// A pod as a Deployment creates it, with two containers and managedFields of several managers.
#[expect(clippy::too_many_lines, reason = "test data")]
fn pod() -> String {
    let env: Vec<Value> = (0..13)
        .map(|n| json!({"name": format!("SETTING_{n}"), "value": format!("some value of the setting number {n}")}))
        .chain([json!({"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}})])
        .collect();
    let container = |name: &str| {
        json!({"name": name, "image": format!("registry.example.com/team/{name}:1.27.3"), "args": ["--listen=:8080", "--verbose"],
            "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}], "env": env,
            "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
            "volumeMounts": [{"name": "kube-api-access-x7k2p", "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent",
            "securityContext": {"capabilities": {"drop": ["ALL"]}, "runAsNonRoot": true, "allowPrivilegeEscalation": false}})
    };
    let owned_env: serde_json::Map<String, Value> = (0..14)
        .map(|n| {
            (
                format!("k:{{\"name\":\"SETTING_{n}\"}}"),
                json!({".": {}, "f:name": {}, "f:value": {}}),
            )
        })
        .collect();
    let owned = |name: &str| {
        (
            format!("k:{{\"name\":\"{name}\"}}"),
            json!({".": {}, "f:args": {}, "f:env": owned_env, "f:image": {}, "f:imagePullPolicy": {},
            "f:livenessProbe": {".": {}, "f:failureThreshold": {}, "f:httpGet": {".": {}, "f:path": {}, "f:port": {}, "f:scheme": {}}, "f:periodSeconds": {}},
            "f:name": {}, "f:ports": {".": {}, "k:{\"containerPort\":8080,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}, "f:name": {}, "f:protocol": {}}},
            "f:resources": {".": {}, "f:limits": {".": {}, "f:cpu": {}, "f:memory": {}}, "f:requests": {".": {}, "f:cpu": {}, "f:memory": {}}},
            "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {}}),
        )
    };
    let conditions: serde_json::Map<String, Value> = [
        "ContainersReady",
        "Initialized",
        "PodReadyToStartContainers",
        "Ready",
    ]
    .into_iter()
    .map(|name| {
        (
            format!("k:{{\"type\":\"{name}\"}}"),
            json!({".": {}, "f:lastProbeTime": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}}),
        )
    })
    .collect();
    let fields = |manager: &str, fields: Value| json!({"manager": manager, "operation": "Update", "apiVersion": "v1", "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1", "fieldsV1": fields});
    let containers: serde_json::Map<String, Value> = [owned("web"), owned("proxy")].into_iter().collect();
    let managed = json!([
        fields(
            "kube-controller-manager",
            json!({"f:metadata": {"f:generateName": {}, "f:labels": {".": {}, "f:app": {}, "f:pod-template-hash": {}, "f:tier": {}},
            "f:ownerReferences": {".": {}, "k:{\"uid\":\"0a0fd3a4-9d11-4b8a-8d44-0c7d3e0b3f15\"}": {}}},
            "f:spec": {"f:containers": containers, "f:dnsPolicy": {}, "f:enableServiceLinks": {}, "f:restartPolicy": {}, "f:schedulerName": {}, "f:securityContext": {}, "f:terminationGracePeriodSeconds": {}}})
        ),
        fields(
            "kubelet",
            json!({"f:status": {"f:conditions": conditions, "f:containerStatuses": {}, "f:hostIP": {}, "f:hostIPs": {}, "f:phase": {}, "f:podIP": {},
            "f:podIPs": {".": {}, "k:{\"ip\":\"10.1.2.3\"}": {".": {}, "f:ip": {}}}, "f:startTime": {}}})
        ),
    ]);
    let statuses: Vec<Value> = ["web", "proxy"]
        .into_iter()
        .map(|name| json!({"name": name, "state": {"running": {"startedAt": "2026-01-02T03:04:05Z"}}, "lastState": {}, "ready": true, "restartCount": 0,
            "image": format!("registry.example.com/team/{name}:1.27.3"), "imageID": format!("registry.example.com/team/{name}@sha256:{}", "0123456789abcdef".repeat(4)),
            "containerID": format!("containerd://{}", "fedcba9876543210".repeat(4)), "started": true}))
        .collect();
    let conditions: Vec<Value> = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
        .into_iter()
        .map(|name| json!({"type": name, "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-01-02T03:04:05Z"}))
        .collect();
    let metadata = [
        ("name", json!("web-5d8c7b9f4d-x7k2p")),
        ("generateName", json!("web-5d8c7b9f4d-")),
        ("namespace", json!("shop")),
        ("uid", json!("6f1b7d0e-52a3-4c1f-9a77-0d8f6f1c2b3a")),
        ("resourceVersion", json!("123456")),
        ("creationTimestamp", json!("2026-01-02T03:04:05Z")),
        (
            "labels",
            json!({"app": "web", "pod-template-hash": "5d8c7b9f4d", "tier": "front"}),
        ),
        (
            "annotations",
            json!({"example.com/config-hash": "0123456789abcdef0123456789abcdef"}),
        ),
        (
            "ownerReferences",
            json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d8c7b9f4d", "uid": "0a0fd3a4-9d11-4b8a-8d44-0c7d3e0b3f15", "controller": true, "blockOwnerDeletion": true}]),
        ),
        ("managedFields", managed),
    ];
    // Keeps the order of Go's fields, which a map would lose.
    let metadata: Vec<String> = metadata
        .iter()
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    let spec = json!({"containers": [container("web"), container("proxy")], "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default", "serviceAccount": "default", "nodeName": "node-17.example.com", "securityContext": {}, "schedulerName": "default-scheduler",
        "volumes": [{"name": "kube-api-access-x7k2p", "projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}], "defaultMode": 420}}],
        "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
        "priority": 0, "enableServiceLinks": true, "preemptionPolicy": "PreemptLowerPriority"});
    let status = json!({"phase": "Running", "conditions": conditions, "hostIP": "192.168.1.17", "hostIPs": [{"ip": "192.168.1.17"}], "podIP": "10.1.2.3",
        "podIPs": [{"ip": "10.1.2.3"}], "startTime": "2026-01-02T03:04:05Z", "containerStatuses": statuses, "qosClass": "Burstable"});
    format!(
        "{{\"metadata\":{{{}}},\"spec\":{spec},\"status\":{status}}}",
        metadata.join(",")
    )
}
