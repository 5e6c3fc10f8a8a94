//! Defaults of volumes, claims and storage classes.

use serde_json::{Value, json};

use super::fields::{object_at, set_default, text, with};

/// Sets the defaults of volume sources that pods and persistent volumes share.
pub(super) fn volume_source(volume: &mut Value) {
    with(volume, "hostPath", |source| set_default(source, "type", ""));
    with(volume, "iscsi", |source| {
        set_default(source, "iscsiInterface", "default");
    });
    with(volume, "rbd", |source| {
        set_default(source, "pool", "rbd");
        set_default(source, "user", "admin");
        set_default(source, "keyring", "/etc/ceph/keyring");
    });
    with(volume, "azureDisk", |source| {
        set_default(source, "cachingMode", "ReadWrite");
        set_default(source, "kind", "Shared");
        set_default(source, "fsType", "ext4");
        set_default(source, "readOnly", false);
    });
    with(volume, "scaleIO", |source| {
        set_default(source, "storageMode", "ThinProvisioned");
        set_default(source, "fsType", "xfs");
    });
}

pub(super) fn persistent_volume(object: &mut Value) {
    set_default(object_at(object, "status"), "phase", "Pending");
    let spec = object_at(object, "spec");
    set_default(spec, "persistentVolumeReclaimPolicy", "Retain");
    set_default(spec, "volumeMode", "Filesystem");
    volume_source(spec);
}

pub(super) fn persistent_volume_claim(object: &mut Value) {
    set_default(object_at(object, "status"), "phase", "Pending");
    let spec = object_at(object, "spec");
    set_default(spec, "volumeMode", "Filesystem");
    if spec["dataSource"].is_object() && text(&spec["dataSource"], "apiGroup").is_empty() {
        let core = matches!(text(&spec["dataSource"], "kind"), "PersistentVolumeClaim");
        if core {
            spec["dataSource"]["apiGroup"] = Value::Null;
        }
    }
}

pub(super) fn storage_class(object: &mut Value) {
    set_default(object, "reclaimPolicy", "Delete");
    set_default(object, "volumeBindingMode", "Immediate");
}

pub(super) fn csi_driver(object: &mut Value) {
    let spec = object_at(object, "spec");
    set_default(spec, "attachRequired", true);
    set_default(spec, "podInfoOnMount", false);
    set_default(spec, "storageCapacity", false);
    set_default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    set_default(spec, "requiresRepublish", false);
    set_default(spec, "seLinuxMount", false);
    set_default(spec, "volumeLifecycleModes", json!(["Persistent"]));
}
