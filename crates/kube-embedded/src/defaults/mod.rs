//! Defaults of built-in kinds, and the preparation of objects before they are stored.
//!
//! The order is that of the server: [`default`] after decoding, then [`admission::admit`], then
//! [`prepare::prepare_for_create`] or [`prepare::prepare_for_update`], then validation. All of them expect a decoded
//! object.

pub(crate) mod admission;
mod cluster;
pub(crate) mod fields;
mod network;
mod pod;
pub(crate) mod prepare;
mod status;
mod storage;
pub(crate) mod strategy;
mod workloads;

use serde_json::Value;

pub(crate) use pod::quality as quality_of_service;

/// Sets the defaults of a built-in kind.
pub(crate) fn default(group: &str, version: &str, kind: &str, object: &mut Value) {
    match (group, kind) {
        ("", "Pod") => pod::pod(object),
        ("", "PodTemplate") => fields::with(object, "template", pod::template),
        ("", "Service") => network::service(object),
        ("", "Endpoints") => network::endpoints(object),
        ("", "Namespace") => cluster::namespace(object),
        ("", "Node") => cluster::node(object),
        ("", "Secret") => cluster::secret(object),
        ("", "LimitRange") => cluster::limit_range(object),
        ("", "PersistentVolume") => storage::persistent_volume(object),
        ("", "PersistentVolumeClaim") => storage::persistent_volume_claim(object),
        ("", "ReplicationController") => workloads::replication_controller(object),
        ("apps", "Deployment") => workloads::deployment(object),
        ("apps", "ReplicaSet") => workloads::replica_set(object),
        ("apps", "StatefulSet") => workloads::stateful_set(object),
        ("apps", "DaemonSet") => workloads::daemon_set(object),
        ("batch", "Job") => fields::with(object, "spec", workloads::job_spec),
        ("batch", "CronJob") => workloads::cron_job(object),
        ("autoscaling", "HorizontalPodAutoscaler") => workloads::autoscaler(version, object),
        ("networking.k8s.io", "IngressClass") => network::ingress_class(object),
        ("networking.k8s.io", "NetworkPolicy") => network::network_policy(object),
        ("discovery.k8s.io", "EndpointSlice") => network::endpoint_slice(object),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => cluster::role_binding(object),
        ("storage.k8s.io", "StorageClass") => storage::storage_class(object),
        ("storage.k8s.io", "CSIDriver") => storage::csi_driver(object),
        ("admissionregistration.k8s.io", _) => cluster::admission_registration(kind, object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => cluster::custom_resource_definition(object),
        ("apiregistration.k8s.io", "APIService") => cluster::api_service(object),
        ("certificates.k8s.io", "CertificateSigningRequest") => cluster::signing_request(object),
        ("certificates.k8s.io", "PodCertificateRequest") => cluster::pod_certificate_request(object),
        ("scheduling.k8s.io", "PriorityClass") => {
            fields::set_default(object, "preemptionPolicy", "PreemptLowerPriority");
        }
        ("scheduling.k8s.io", "PodGroup") => cluster::pod_group(object),
        ("flowcontrol.apiserver.k8s.io", _) => cluster::flow_control(kind, object),
        ("resource.k8s.io", _) => cluster::dynamic_resources(version, kind, object),
        _ => {}
    }
}
