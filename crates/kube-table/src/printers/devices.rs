//! Dynamic resource allocation: `resource.k8s.io`.

use serde_json::Value;

use super::{Print, name_and_age, values};
use crate::age;
use crate::row::{Row, number, text};

pub(super) fn printer(kind: &str) -> Option<Print> {
    let print: Print = match kind {
        "DeviceClass" | "ResourceClaimTemplate" => name_and_age,
        "DeviceTaintRule" => device_taint_rule,
        "ResourceClaim" => resource_claim,
        "ResourcePoolStatusRequest" => resource_pool_status_request,
        "ResourceSlice" => resource_slice,
        _ => return None,
    };
    Some(print)
}

fn device_taint_rule(row: Row<'_>) -> Vec<Value> {
    let added = row
        .given("/spec/taint/timeAdded")
        .map_or_else(String::new, |added| age::since(added, row.now));
    values![
        row.name(),
        row.text("/spec/taint/key"),
        row.text("/spec/taint/value"),
        row.text("/spec/taint/effect"),
        added,
        row.age(),
    ]
}

fn resource_claim(row: Row<'_>) -> Vec<Value> {
    let mut states = Vec::new();
    if row.is_deleted() {
        states.push("deleted");
    }
    if row.at("/status/allocation").is_some() {
        states.push("allocated");
        if row.count("/status/reservedFor") > 0 {
            states.push("reserved");
        }
    } else if !row.is_deleted() {
        states.push("pending");
    }
    values![row.name(), states.join(","), row.age()]
}

fn resource_slice(row: Row<'_>) -> Vec<Value> {
    values![
        row.name(),
        row.text("/spec/nodeName"),
        row.text("/spec/driver"),
        row.text("/spec/pool/name"),
        row.age(),
    ]
}

fn resource_pool_status_request(row: Row<'_>) -> Vec<Value> {
    let end = row.items("/status/conditions").iter().find(|condition| {
        matches!(text(condition, "type"), "Complete" | "Failed") && condition["status"] == "True"
    });
    let outcome = end.map_or("Pending", |condition| text(condition, "type"));
    let (known, shown) = (row.number("/status/poolCount"), row.items("/status/pools"));
    let status = if outcome == "Complete" && usize::try_from(known).is_ok_and(|known| known > shown.len()) {
        format!("Complete ({}/{known} pools)", shown.len())
    } else {
        outcome.to_owned()
    };
    let countable = row.at("/status").is_some() && outcome != "Failed";
    let total = |field| {
        if countable {
            let sum: i64 = shown.iter().map(|pool| number(pool, field)).sum();
            sum.to_string()
        } else {
            "-".into()
        }
    };
    let errors = if countable {
        let broken = shown.iter().filter(|pool| !pool["validationError"].is_null());
        broken.count().to_string()
    } else {
        "-".into()
    };
    let completed = match end {
        Some(condition) if outcome == "Complete" => {
            age::since(text(condition, "lastTransitionTime"), row.now)
        }
        _ => "<none>".into(),
    };
    values![
        row.name(),
        row.text("/spec/driver"),
        total("totalDevices"),
        total("availableDevices"),
        total("allocatedDevices"),
        total("unavailableDevices"),
        errors,
        known,
        status,
        completed,
    ]
}
