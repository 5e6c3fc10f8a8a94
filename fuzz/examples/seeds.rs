//! Writes the initial inputs of corpora whose inputs cannot be written by hand.
//!
//! `cargo run -p fuzz --example seeds`

use std::fs;
use std::io;

use fuzz::Target;
use kube_wire::protobuf::{Envelope, ListEncoder, WatchEvent, encode};
use serde_json::{Value, json};

fn main() -> io::Result<()> {
    for (at, (kind, object)) in objects().iter().enumerate() {
        let bytes = encode(object).expect("an object");
        let message = Envelope::parse(&bytes).expect("an envelope").raw;
        write(
            "protobuf_object",
            &format!("seed-{at:02}"),
            &[&[*kind, 0], message].concat(),
        )?;
        let skipped = u8::try_from(at % 8).unwrap_or_default();
        write(
            "protobuf_object",
            &format!("seed-skip-{at:02}"),
            &[&[*kind, skipped], message].concat(),
        )?;
        let frame = WatchEvent {
            event_type: "ADDED",
            object: &bytes,
        }
        .to_frame();
        write(
            "protobuf_watch",
            &format!("seed-{at:02}"),
            &[&[9, 0, 30, 1], &frame[..]].concat(),
        )?;
        write(
            "json_object",
            &format!("seed-{at:02}"),
            &[&[skipped], object.to_string().as_bytes()].concat(),
        )?;
        let line = json!({"type": "MODIFIED", "object": object}).to_string();
        write(
            "json_watch",
            &format!("seed-{at:02}"),
            format!("\x20\x00\x09\x50{line}\n\n{line}").as_bytes(),
        )?;
    }
    let maps = [map("a", "2"), map("b", "3")];
    let list = json!({
        "kind": "ConfigMapList", "apiVersion": "v1",
        "metadata": {"resourceVersion": "9", "continue": "t", "remainingItemCount": 5}, "items": maps,
    });
    write(
        "json_list",
        "seed-typed",
        format!("\x07\x40\x00\x01{list}").as_bytes(),
    )?;
    let whole = in_protobuf(
        &json!({"resourceVersion": "9", "continue": "t", "remainingItemCount": 5}),
        &maps,
    );
    write(
        "protobuf_list",
        "seed-maps",
        &[&b"\x07\x40\x00\x01"[..], &whole].concat(),
    )?;
    answers(&maps)
}

/// Responses to an informer, in both formats.
fn answers(maps: &[Value]) -> io::Result<()> {
    let list = in_protobuf(&json!({"resourceVersion": "9"}), maps);
    let frame =
        |event_type: &str, object: &Value| WatchEvent::frame_of(event_type, object).expect("an event");
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "code": 410, "reason": "Expired", "message": "old"});
    let frames = [
        frame("ADDED", &map("c", "10")),
        frame("MODIFIED", &map("a", "11")),
        frame("DELETED", &map("b", "12")),
        frame(
            "BOOKMARK",
            &json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"resourceVersion": "13"}}),
        ),
        frame("ERROR", &status),
    ];
    let between = &b"\n---\n"[..];
    let watch = frames.concat();
    write(
        "informer",
        "seed-protobuf",
        &[b"\x00P", &list[..], between, b"W", &watch, between, b"W", &watch].concat(),
    )?;
    write(
        "informer",
        "seed-packed",
        &[b"\x02P", &list[..], between, b"W", &watch].concat(),
    )?;
    let end = json!({
        "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": {"resourceVersion": "13", "annotations": {"k8s.io/initial-events-end": "true"}},
    });
    let stream = [
        frame("ADDED", &map("a", "2")),
        frame("BOOKMARK", &end),
        frame("DELETED", &map("a", "15")),
    ];
    write(
        "informer",
        "seed-stream",
        &[b"\x01W", &stream.concat()[..], between, b"W", &watch].concat(),
    )
}

fn in_protobuf(metadata: &Value, items: &[Value]) -> Vec<u8> {
    let list = ListEncoder::new("v1", "ConfigMapList").expect("a list");
    let items: Vec<u8> = items
        .iter()
        .flat_map(|item| list.item(item).expect("an item"))
        .collect();
    let head = list.head(metadata, items.len()).expect("a head");
    [&head, &items, list.tail()].concat()
}

fn map(name: &str, version: &str) -> Value {
    json!({
        "kind": "ConfigMap", "apiVersion": "v1", "data": {"k": name},
        "metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": version},
    })
}

/// Objects, each with the index of its kind in the target's list.
#[expect(clippy::too_many_lines, reason = "a table")]
fn objects() -> Vec<(u8, Value)> {
    let metadata = json!({
        "name": "n", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": 2,
        "creationTimestamp": "2026-01-02T03:04:05Z", "labels": {"app": "web", "n": "5", "a": ""},
        "annotations": {"a.b/c": "d"}, "finalizers": ["f"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "o", "uid": "1", "controller": true}],
        "managedFields": [{
            "manager": "m", "operation": "Apply", "fieldsType": "FieldsV1", "time": "2026-01-02T03:04:05Z",
            "fieldsV1": {"f:metadata": {"f:labels": {".": {}}}},
        }],
    });
    let container = json!({
        "name": "c", "image": "i", "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "p"}}}],
        "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "100m", "memory": "1Gi"}},
        "livenessProbe": {"httpGet": {"port": "web", "path": "/"}},
    });
    let pod = json!({
        "containers": [container], "volumes": [{"name": "v", "secret": {"secretName": "s", "defaultMode": 420}}],
        "securityContext": {"supplementalGroups": [1, 2]}, "nodeSelector": {"a": "b"},
    });
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": pod});
    let object = |kind: u8, api_version: &str, name: &str, rest: Value| {
        let mut object = json!({"apiVersion": api_version, "kind": name, "metadata": metadata});
        if let (Value::Object(fields), Value::Object(rest)) = (&mut object, rest) {
            fields.extend(rest);
        }
        (kind, object)
    };
    let time = "2026-01-02T03:04:05.000006Z";
    vec![
        object(
            0,
            "v1",
            "ConfigMap",
            json!({"data": {"a": "1"}, "binaryData": {"b": "AAEC"}, "immutable": false}),
        ),
        object(
            1,
            "v1",
            "Pod",
            json!({"spec": pod, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
        ),
        object(
            2,
            "v1",
            "Secret",
            json!({"data": {"k": "AAEC"}, "type": "Opaque"}),
        ),
        object(
            3,
            "v1",
            "Service",
            json!({"spec": {"ports": [{"port": 80, "targetPort": "web"}]}}),
        ),
        object(
            4,
            "v1",
            "Node",
            json!({"status": {"capacity": {"cpu": "4"}, "images": [{"sizeBytes": 5}]}}),
        ),
        object(
            5,
            "v1",
            "Event",
            json!({"involvedObject": {"kind": "Pod"}, "count": 3, "eventTime": time}),
        ),
        object(
            6,
            "v1",
            "PersistentVolume",
            json!({"spec": {"capacity": {"storage": "1Gi"}}}),
        ),
        object(
            7,
            "apps/v1",
            "Deployment",
            json!({"spec": {
                "replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template,
                "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
            }}),
        ),
        object(
            8,
            "apps/v1",
            "ControllerRevision",
            json!({"data": {"spec": {"a": [1, null]}}, "revision": 1}),
        ),
        object(
            9,
            "apps/v1",
            "StatefulSet",
            json!({"spec": {
                "serviceName": "s", "selector": {}, "template": template, "volumeClaimTemplates": [{"spec": {}}],
            }}),
        ),
        object(
            10,
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            json!({"spec": {
                "maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"},
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Value", "value": "1"}}}],
            }}),
        ),
        object(
            11,
            "batch/v1",
            "CronJob",
            json!({"spec": {
                "schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}},
            }}),
        ),
        object(
            12,
            "coordination.k8s.io/v1",
            "Lease",
            json!({"spec": {"renewTime": time, "holderIdentity": "h"}}),
        ),
        object(
            13,
            "discovery.k8s.io/v1",
            "EndpointSlice",
            json!({
                "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}],
                "ports": [{"port": 80}],
            }),
        ),
        object(
            14,
            "events.k8s.io/v1",
            "Event",
            json!({"eventTime": time, "series": {"count": 2, "lastObservedTime": time}}),
        ),
        object(
            15,
            "networking.k8s.io/v1",
            "NetworkPolicy",
            json!({"spec": {
                "podSelector": {}, "ingress": [{"ports": [{"port": 80, "endPort": 90}], "from": [{"podSelector": {}}]}],
            }}),
        ),
        object(
            16,
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            json!({
                "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
                "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
            }),
        ),
        object(
            17,
            "resource.k8s.io/v1",
            "ResourceSlice",
            json!({"spec": {
                "driver": "d", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "g", "attributes": {"a": {"int": 1}}, "capacity": {"m": {"value": "1Gi"}}}],
            }}),
        ),
        object(
            18,
            "admissionregistration.k8s.io/v1",
            "ValidatingAdmissionPolicy",
            json!({"spec": {
                "validations": [{"expression": "true"}], "matchConstraints": {"resourceRules": [{"resources": ["*"]}]},
            }}),
        ),
        object(
            19,
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            json!({"spec": {
                "group": "e.com", "scope": "Namespaced", "names": {"plural": "ws", "kind": "W"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "default": {"a": 1}, "maximum": 1.5, "not": {"enum": ["x", 1]},
                    "properties": {"a": {"items": [{}, {"type": "string"}], "additionalProperties": true}},
                }}}],
            }}),
        ),
    ]
}

fn write(target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = Target::named(target).expect("a target").corpus();
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), bytes)
}
