//! Validates objects, with the messages of a real server.
//!
//! The metadata of all kinds is validated; specs are validated for the most common mistakes. A real server rejects all
//! objects that this module rejects, with the same message, but may reject more.

mod admission;
mod cluster;
mod config;
mod containers;
mod errors;
mod jobs;
mod metadata;
pub(crate) mod names;
mod network;
mod pod;
mod pod_update;
mod rare;
mod rbac;
mod resources;
mod scaling;
mod selectors;
mod storage;
mod workloads;

use serde_json::Value;

use crate::status::FieldError;
use errors::Errors;

/// Validates an object, in the order of a real server.
///
/// `object` is decoded, defaulted and prepared. `old` is the object that it replaces.
pub(crate) fn validate(
    group: &str,
    _version: &str,
    kind: &str,
    object: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let mut errors = Errors::default();
    if matches!(group, "authorization.k8s.io" | "authentication.k8s.io") {
        return errors.0;
    }
    if (group, kind) == ("", "Service") {
        network::addressing(&object["spec"], &mut errors);
        if !errors.0.is_empty() {
            return errors.0;
        }
    }
    if let Some(old) = old {
        metadata::metadata_update(&object["metadata"], &old["metadata"], &mut errors);
    }
    // For these kinds, the real server validates metadata only if the rest is valid.
    let named_last = matches!((group, kind), ("policy", "PodDisruptionBudget") | ("", "Event"));
    let names_itself = group == "events.k8s.io";
    if !named_last && !names_itself {
        metadata::metadata(group, kind, &object["metadata"], &mut errors);
    }
    rare::required(group, kind, object, &mut errors);
    if let Some(old) = old {
        rare::immutable(group, kind, object, old, &mut errors);
    }
    let status_only =
        old.is_some_and(|old| old["spec"] == object["spec"] && old["status"] != object["status"]);
    match (group, kind) {
        ("", "Pod") => match old {
            None => pod::pod(object, &mut errors),
            Some(old) => pod_update::pod(object, old, &mut errors),
        },
        ("", "PodTemplate") => pod::template("template", &object["template"], &mut errors),
        ("", "Service") => network::service(object, &mut errors),
        ("", "Endpoints") => network::endpoints(object, &mut errors),
        ("", "ConfigMap") => config::config_map(object, old, &mut errors),
        ("", "Secret") => config::secret(object, old, &mut errors),
        ("", "Namespace") => cluster::namespace(object, &mut errors),
        ("", "Node") => cluster::node(object, old, &mut errors),
        ("", "ResourceQuota") => cluster::resource_quota(object, &mut errors),
        ("" | "events.k8s.io", "Event") => cluster::event(group, object, &mut errors),
        ("", "PersistentVolume") => storage::persistent_volume(object, old, &mut errors),
        ("", "PersistentVolumeClaim") => storage::persistent_volume_claim(object, old, &mut errors),
        ("apps", "ReplicaSet") if status_only => workloads::replica_status(&object["status"], &mut errors),
        ("", "ReplicationController") => workloads::replication_controller(object, &mut errors),
        ("apps", "Deployment") => workloads::deployment(object, old, &mut errors),
        ("apps", "ReplicaSet") => workloads::replica_set(object, old, &mut errors),
        ("apps", "StatefulSet") => workloads::stateful_set(object, old, &mut errors),
        ("apps", "DaemonSet") => workloads::daemon_set(object, old, &mut errors),
        ("apps", "ControllerRevision") => workloads::controller_revision(object, old, &mut errors),
        ("batch", "Job") => jobs::job(object, old, &mut errors),
        ("batch", "CronJob") => jobs::cron_job(object, &mut errors),
        ("autoscaling", "HorizontalPodAutoscaler") => scaling::autoscaler(&object["spec"], &mut errors),
        ("policy", "PodDisruptionBudget") => scaling::disruption_budget(&object["spec"], &mut errors),
        ("networking.k8s.io", "Ingress") => network::ingress(&object["spec"], &mut errors),
        ("networking.k8s.io", "IngressClass") => network::ingress_class(object, old, &mut errors),
        ("networking.k8s.io", "NetworkPolicy") => network::network_policy(&object["spec"], &mut errors),
        ("networking.k8s.io", "IPAddress") => network::ip_address(&object["spec"], &mut errors),
        ("discovery.k8s.io", "EndpointSlice") => network::endpoint_slice(object, old, &mut errors),
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => rbac::role(kind, object, &mut errors),
        ("rbac.authorization.k8s.io", _) => rbac::binding(kind, object, old, &mut errors),
        ("storage.k8s.io", _) => storage::storage_kind(kind, object, old, &mut errors),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            admission::policy(object, &mut errors);
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => {
            admission::binding(object, &mut errors);
        }
        ("admissionregistration.k8s.io", _) => cluster::webhooks(object, &mut errors),
        ("apiregistration.k8s.io", "APIService") => cluster::api_service(object, &mut errors),
        ("certificates.k8s.io", "CertificateSigningRequest") => cluster::signing_request(object, &mut errors),
        ("certificates.k8s.io", "PodCertificateRequest") => {
            cluster::pod_certificate(&object["spec"], &mut errors);
        }
        ("scheduling.k8s.io", "PriorityClass") => cluster::priority_class(object, old, &mut errors),
        ("coordination.k8s.io", "Lease") => cluster::lease(&object["spec"], &mut errors),
        ("node.k8s.io", "RuntimeClass") => cluster::runtime_class(object, old, &mut errors),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => {
            cluster::priority_level(object, &mut errors);
        }
        _ => {}
    }
    if named_last && errors.0.is_empty() {
        metadata::metadata(group, kind, &object["metadata"], &mut errors);
    }
    errors.0
}

/// Validates the metadata of an object of a custom kind.
pub(crate) fn validate_metadata(
    group: &str,
    kind: &str,
    object: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let mut errors = Errors::default();
    if let Some(old) = old {
        metadata::metadata_update(&object["metadata"], &old["metadata"], &mut errors);
    }
    metadata::custom_metadata(group, kind, &object["metadata"], &mut errors);
    errors.0
}

/// Validates an object that is written through a subresource other than `status`.
pub(crate) fn validate_subresource(
    group: &str,
    version: &str,
    kind: &str,
    subresource: &str,
    object: &Value,
    old: &Value,
) -> Vec<FieldError> {
    let mut errors = Errors::default();
    match (group, kind, subresource) {
        ("", "Pod", "ephemeralcontainers") => pod_update::ephemeral_containers(object, old, &mut errors),
        ("", "Pod", "resize") => pod_update::resize(object, old, &mut errors),
        // A binding only sets the node of a pod.
        ("", "Pod", "binding") => {}
        _ => return validate(group, version, kind, object, Some(old)),
    }
    errors.0
}
