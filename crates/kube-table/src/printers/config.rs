//! Configuration and quotas.

use serde_json::Value;

use super::values;
use crate::format::quantity;
use crate::row::Row;

pub(super) fn config_map(row: Row<'_>) -> Vec<Value> {
    values![
        row.name(),
        row.count("/data") + row.count("/binaryData"),
        row.age()
    ]
}

pub(super) fn secret(row: Row<'_>) -> Vec<Value> {
    values![row.name(), row.text("/type"), row.count("/data"), row.age()]
}

pub(super) fn resource_quota(row: Row<'_>) -> Vec<Value> {
    let mut resources: Vec<(&String, &Value)> = row.entries("/status/hard").into_iter().flatten().collect();
    resources.sort_unstable_by_key(|(name, _)| *name);
    let (limits, requests): (Vec<_>, Vec<_>) = resources
        .into_iter()
        .partition(|(name, _)| name.starts_with("limits."));
    let show = |resources: &[(&String, &Value)]| {
        let shown: Vec<String> = resources
            .iter()
            .map(|(name, hard)| {
                let used = quantity(&row.object["status"]["used"][name.as_str()]);
                format!("{name}: {used}/{}", quantity(hard))
            })
            .collect();
        shown.join(", ")
    };
    values![row.name(), show(&requests), show(&limits), row.age()]
}
