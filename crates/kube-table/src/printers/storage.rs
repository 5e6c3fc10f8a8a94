//! Volumes, claims, storage classes and drivers.

use serde_json::Value;

use super::{Print, values};
use crate::format::{join, quantity};
use crate::row::{Row, items, text};

/// Printers of `storage.k8s.io`.
pub(super) fn printer(kind: &str) -> Option<Print> {
    let print: Print = match kind {
        "CSIDriver" => csi_driver,
        "CSINode" => csi_node,
        "StorageClass" => storage_class,
        "VolumeAttachment" => volume_attachment,
        "VolumeAttributesClass" => volume_attributes_class,
        _ => return None,
    };
    Some(print)
}

pub(super) fn persistent_volume(row: Row<'_>) -> Vec<Value> {
    let claim = row.at("/spec/claimRef").map_or_else(String::new, |claim| {
        format!("{}/{}", text(claim, "namespace"), text(claim, "name"))
    });
    values![
        row.name(),
        quantity(&row.object["spec"]["capacity"]["storage"]),
        access_modes(row.items("/spec/accessModes")),
        row.text("/spec/persistentVolumeReclaimPolicy"),
        phase(row),
        claim,
        class(row),
        row.given("/spec/volumeAttributesClassName").unwrap_or("<unset>"),
        row.text("/status/reason"),
        row.age(),
        row.given("/spec/volumeMode").unwrap_or("<unset>"),
    ]
}

pub(super) fn persistent_volume_claim(row: Row<'_>) -> Vec<Value> {
    let volume = row.text("/spec/volumeName");
    let (capacity, modes) = if volume.is_empty() {
        (String::new(), String::new())
    } else {
        (
            quantity(&row.object["status"]["capacity"]["storage"]),
            access_modes(row.items("/status/accessModes")),
        )
    };
    values![
        row.name(),
        phase(row),
        volume,
        capacity,
        modes,
        class(row),
        row.given("/spec/volumeAttributesClassName").unwrap_or("<unset>"),
        row.age(),
        row.given("/spec/volumeMode").unwrap_or("<unset>"),
    ]
}

fn phase(row: Row<'_>) -> &str {
    if row.is_deleted() {
        "Terminating"
    } else {
        row.text("/status/phase")
    }
}

/// The deprecated annotation takes precedence over the field.
fn class(row: Row<'_>) -> &str {
    row.annotation("volume.beta.kubernetes.io/storage-class")
        .unwrap_or_else(|| row.text("/spec/storageClassName"))
}

fn access_modes(modes: &[Value]) -> String {
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let shown: Vec<&str> = short
        .iter()
        .filter(|(long, _)| modes.iter().any(|mode| mode == long))
        .map(|(_, short)| *short)
        .collect();
    shown.join(",")
}

fn storage_class(row: Row<'_>) -> Vec<Value> {
    let default = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ]
    .iter()
    .any(|key| row.annotation(key) == Some("true"));
    let mut name = row.name().to_owned();
    if default {
        name.push_str(" (default)");
    }
    values![
        name,
        row.text("/provisioner"),
        row.given("/reclaimPolicy").unwrap_or("Delete"),
        row.given("/volumeBindingMode").unwrap_or("Immediate"),
        row.flag("/allowVolumeExpansion").unwrap_or(false),
        row.age(),
    ]
}

fn volume_attributes_class(row: Row<'_>) -> Vec<Value> {
    values![row.name(), row.text("/driverName"), row.age()]
}

fn volume_attachment(row: Row<'_>) -> Vec<Value> {
    values![
        row.name(),
        row.text("/spec/attacher"),
        row.text("/spec/source/persistentVolumeName"),
        row.text("/spec/nodeName"),
        row.flag("/status/attached").unwrap_or(false),
        row.age(),
    ]
}

fn csi_driver(row: Row<'_>) -> Vec<Value> {
    let tokens = row.at("/spec/tokenRequests").map_or_else(
        || "<unset>".into(),
        |requests| {
            let audiences: Vec<&str> = items(requests)
                .iter()
                .map(|request| text(request, "audience"))
                .collect();
            audiences.join(",")
        },
    );
    let modes = match join(row.items("/spec/volumeLifecycleModes"), ",") {
        modes if modes.is_empty() => "<none>".into(),
        modes => modes,
    };
    values![
        row.name(),
        row.flag("/spec/attachRequired").unwrap_or(true),
        row.flag("/spec/podInfoOnMount").unwrap_or(false),
        row.flag("/spec/storageCapacity").unwrap_or(false),
        tokens,
        row.flag("/spec/requiresRepublish").unwrap_or(false),
        modes,
        row.age(),
    ]
}

fn csi_node(row: Row<'_>) -> Vec<Value> {
    values![row.name(), row.count("/spec/drivers"), row.age()]
}
