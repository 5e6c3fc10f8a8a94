//! Roles, bindings, service accounts and certificates.

use serde_json::Value;

use super::values;
use crate::age;
use crate::format::labels;
use crate::row::{Row, text};

pub(super) fn role_binding(row: Row<'_>) -> Vec<Value> {
    let role = format!("{}/{}", row.text("/roleRef/kind"), row.text("/roleRef/name"));
    let subjects = |kind: &str, show: fn(&Value) -> String| {
        let shown: Vec<String> = row
            .items("/subjects")
            .iter()
            .filter(|subject| subject["kind"] == kind)
            .map(show)
            .collect();
        shown.join(", ")
    };
    let name = |subject: &Value| text(subject, "name").to_owned();
    let account = |subject: &Value| format!("{}/{}", text(subject, "namespace"), text(subject, "name"));
    values![
        row.name(),
        role,
        row.age(),
        subjects("User", name),
        subjects("Group", name),
        subjects("ServiceAccount", account),
    ]
}

pub(super) fn certificate_signing_request(row: Row<'_>) -> Vec<Value> {
    let duration = row
        .at("/spec/expirationSeconds")
        .and_then(Value::as_i64)
        .map_or_else(|| "<none>".into(), age::human);
    let mut status = if row.condition("Denied").is_some() {
        "Denied"
    } else if row.condition("Approved").is_some() {
        "Approved"
    } else {
        "Pending"
    }
    .to_owned();
    if row.condition("Failed").is_some() {
        status.push_str(",Failed");
    }
    if !row.text("/status/certificate").is_empty() {
        status.push_str(",Issued");
    }
    values![
        row.name(),
        row.age(),
        row.text_or("/spec/signerName", "<none>"),
        row.text("/spec/username"),
        duration,
        status,
    ]
}

pub(super) fn cluster_trust_bundle(row: Row<'_>) -> Vec<Value> {
    values![row.name(), row.text_or("/spec/signerName", "<none>")]
}

pub(super) fn pod_certificate_request(row: Row<'_>) -> Vec<Value> {
    let state = row
        .items("/status/conditions")
        .iter()
        .rev()
        .map(|condition| text(condition, "type"))
        .find(|type_| matches!(*type_, "Issued" | "Denied" | "Failed"))
        .unwrap_or("Pending");
    values![
        row.name(),
        row.text("/spec/podName"),
        row.text("/spec/serviceAccountName"),
        row.text("/spec/nodeName"),
        row.text("/spec/signerName"),
        state,
        labels(row.entries("/spec/unverifiedUserAnnotations")),
    ]
}
