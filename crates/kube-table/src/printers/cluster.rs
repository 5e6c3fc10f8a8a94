//! Namespaces, leases and the server's own kinds.

use serde_json::Value;

use super::values;
use crate::format::{first_three_or_unset, qualified};
use crate::row::{Row, text};

pub(super) fn namespace(row: Row<'_>) -> Vec<Value> {
    values![row.name(), row.text("/status/phase"), row.age()]
}

pub(super) fn component_status(row: Row<'_>) -> Vec<Value> {
    let health = row
        .items("/conditions")
        .iter()
        .find(|condition| condition["type"] == "Healthy");
    let status = match health {
        Some(condition) if condition["status"] == "True" => "Healthy",
        Some(_) => "Unhealthy",
        None => "Unknown",
    };
    let condition_text = |field| health.map_or("", |condition| text(condition, field));
    values![
        row.name(),
        status,
        condition_text("message"),
        condition_text("error")
    ]
}

pub(super) fn lease(row: Row<'_>) -> Vec<Value> {
    values![row.name(), row.text("/spec/holderIdentity"), row.age()]
}

pub(super) fn lease_candidate(row: Row<'_>) -> Vec<Value> {
    values![
        row.name(),
        row.text("/spec/leaseName"),
        row.text("/spec/binaryVersion"),
        row.text("/spec/emulationVersion"),
        row.age(),
    ]
}

pub(super) fn api_service(row: Row<'_>) -> Vec<Value> {
    let service = row.at("/spec/service").map_or_else(
        || "Local".into(),
        |service| format!("{}/{}", text(service, "namespace"), text(service, "name")),
    );
    let available = row.condition("Available").map_or_else(
        || "Unknown".into(),
        |condition| match (text(condition, "status"), text(condition, "reason")) {
            (status @ "True", _) | (status, "") => status.to_owned(),
            (status, reason) => format!("{status} ({reason})"),
        },
    );
    values![row.name(), service, available, row.age()]
}

pub(super) fn storage_version(row: Row<'_>) -> Vec<Value> {
    let servers: Vec<String> = row
        .items("/status/storageVersions")
        .iter()
        .map(|server| {
            format!(
                "{}={}",
                text(server, "apiServerID"),
                text(server, "encodingVersion")
            )
        })
        .collect();
    values![
        row.name(),
        row.given("/status/commonEncodingVersion").unwrap_or("<unset>"),
        first_three_or_unset(&servers),
        row.age(),
    ]
}

pub(super) fn storage_version_migration(row: Row<'_>) -> Vec<Value> {
    let resource = qualified(
        row.text("/spec/resource/resource"),
        row.text("/spec/resource/group"),
    );
    let status = row
        .items("/status/conditions")
        .iter()
        .rev()
        .filter(|condition| condition["status"] == "True")
        .map(|condition| text(condition, "type"))
        .find(|type_| matches!(*type_, "Running" | "Failed" | "Succeeded"))
        .unwrap_or("Unknown");
    values![row.name(), resource, status]
}
