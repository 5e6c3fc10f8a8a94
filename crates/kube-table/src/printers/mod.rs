//! The cells of built-in kinds.
//!
//! The cells of wide columns are always included; clients hide them.

mod access;
mod admission;
mod autoscaling;
mod cluster;
mod config;
mod devices;
mod event;
mod flowcontrol;
mod network;
mod node;
mod pod;
mod scheduling;
mod storage;
mod workload;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::row::{Row, text};

/// Cells from values of different types.
macro_rules! values {
    ($($cell:expr),* $(,)?) => { vec![$(serde_json::Value::from($cell)),*] };
}
use values;

type Print = fn(Row<'_>) -> Vec<Value>;

/// Returns the cells of an object, wide ones included. Kinds without a printer show name and creation time.
pub(crate) fn cells(group: &str, version: &str, kind: &str, object: &Value, now: Timestamp) -> Vec<Value> {
    let row = Row { version, object, now };
    match printer(group, kind) {
        Some(print) => print(row),
        None => values![row.name(), row.created()],
    }
}

/// Returns whether the kind has a printer.
pub(crate) fn has_printer(group: &str, kind: &str) -> bool {
    printer(group, kind).is_some()
}

/// Returns the conditions of a row, which tell clients about an object without its cells. Only finished pods have some.
pub(crate) fn row_conditions(group: &str, kind: &str, object: &Value) -> Option<Value> {
    if (group, kind) != ("", "Pod") {
        return None;
    }
    let reason = text(&object["status"], "phase");
    let message = match reason {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return None,
    };
    Some(json!([{ "type": "Completed", "status": "True", "reason": reason, "message": message }]))
}

fn name_and_age(row: Row<'_>) -> Vec<Value> {
    values![row.name(), row.age()]
}

fn printer(group: &str, kind: &str) -> Option<Print> {
    let print: Print = match (group, kind) {
        ("", kind) => return core_printer(kind),
        ("admissionregistration.k8s.io", kind) => return admission::printer(kind),
        ("resource.k8s.io", kind) => return devices::printer(kind),
        ("storage.k8s.io", kind) => return storage::printer(kind),
        ("networking.k8s.io" | "discovery.k8s.io", kind) => return network::printer(kind),
        ("apps", "ControllerRevision") => workload::controller_revision,
        ("apps", "DaemonSet") => workload::daemon_set,
        ("apps", "Deployment") => workload::deployment,
        ("apps", "ReplicaSet") => workload::replica_set,
        ("apps", "StatefulSet") => workload::stateful_set,
        ("batch", "CronJob") => workload::cron_job,
        ("batch", "Job") => workload::job,
        ("policy", "PodDisruptionBudget") => workload::pod_disruption_budget,
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaling::horizontal_pod_autoscaler,
        ("autoscaling", "Scale") => autoscaling::scale,
        ("certificates.k8s.io", "CertificateSigningRequest") => access::certificate_signing_request,
        ("certificates.k8s.io", "ClusterTrustBundle") => access::cluster_trust_bundle,
        ("certificates.k8s.io", "PodCertificateRequest") => access::pod_certificate_request,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => access::role_binding,
        ("apiregistration.k8s.io", "APIService") => cluster::api_service,
        ("coordination.k8s.io", "Lease") => cluster::lease,
        ("coordination.k8s.io", "LeaseCandidate") => cluster::lease_candidate,
        ("internal.apiserver.k8s.io", "StorageVersion") => cluster::storage_version,
        ("storagemigration.k8s.io", "StorageVersionMigration") => cluster::storage_version_migration,
        ("events.k8s.io", "Event") => event::event,
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => flowcontrol::flow_schema,
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => flowcontrol::priority_level,
        ("node.k8s.io", "RuntimeClass") => node::runtime_class,
        ("scheduling.k8s.io", "PriorityClass") => scheduling::priority_class,
        ("scheduling.k8s.io", "PodGroup") => scheduling::pod_group,
        ("scheduling.k8s.io", "Workload") => name_and_age,
        _ => return None,
    };
    Some(print)
}

fn core_printer(kind: &str) -> Option<Print> {
    let print: Print = match kind {
        "ComponentStatus" => cluster::component_status,
        "ConfigMap" => config::config_map,
        "Endpoints" => network::endpoints,
        "Event" => event::event,
        "Namespace" => cluster::namespace,
        "Node" => node::node,
        "PersistentVolume" => storage::persistent_volume,
        "PersistentVolumeClaim" => storage::persistent_volume_claim,
        "Pod" => pod::pod,
        "PodTemplate" => workload::pod_template,
        "ReplicationController" => workload::replication_controller,
        "ResourceQuota" => config::resource_quota,
        "Secret" => config::secret,
        "Service" => network::service,
        "ServiceAccount" => name_and_age,
        _ => return None,
    };
    Some(print)
}
