//! Nodes and their runtimes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::values;
use crate::row::{Row, text};

pub(super) fn node(row: Row<'_>) -> Vec<Value> {
    let mut kernel = row
        .text_or("/status/nodeInfo/kernelVersion", "<unknown>")
        .to_owned();
    let architecture = row.text("/status/nodeInfo/architecture");
    if !architecture.is_empty() {
        kernel = format!("{kernel} ({architecture})");
    }
    values![
        row.name(),
        status(row),
        roles(row),
        row.age(),
        row.text("/status/nodeInfo/kubeletVersion"),
        address(row, "InternalIP"),
        address(row, "ExternalIP"),
        row.text_or("/status/nodeInfo/osImage", "<unknown>"),
        kernel,
        row.text_or("/status/nodeInfo/containerRuntimeVersion", "<unknown>"),
    ]
}

fn status(row: Row<'_>) -> String {
    // Of several conditions of one type, the last one counts here.
    let ready = row
        .items("/status/conditions")
        .iter()
        .rfind(|condition| condition["type"] == "Ready")
        .map(|condition| condition["status"] == "True");
    let mut status = match ready {
        Some(true) => "Ready",
        Some(false) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if row.flag("/spec/unschedulable") == Some(true) {
        status.push_str(",SchedulingDisabled");
    }
    status
}

fn roles(row: Row<'_>) -> String {
    let roles: BTreeSet<&str> = row
        .entries("/metadata/labels")
        .into_iter()
        .flatten()
        .filter_map(
            |(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
                Some(role) => Some(role),
                None if key == "kubernetes.io/role" => value.as_str(),
                None => None,
            },
        )
        .filter(|role| !role.is_empty())
        .collect();
    if roles.is_empty() {
        return "<none>".into();
    }
    roles.into_iter().collect::<Vec<_>>().join(",")
}

fn address<'a>(row: Row<'a>, type_: &str) -> &'a str {
    row.items("/status/addresses")
        .iter()
        .find(|address| address["type"] == type_)
        .map_or("<none>", |address| text(address, "address"))
}

pub(super) fn runtime_class(row: Row<'_>) -> Vec<Value> {
    values![row.name(), row.text("/handler"), row.age()]
}
