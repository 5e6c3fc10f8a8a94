//! The strategies of kinds: which subresources write which parts, and when generations are incremented.

/// How a kind is divided between its main resource and its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a separate property")]
pub(crate) struct Strategy {
    /// Only the status subresource writes the status.
    pub(crate) status: bool,
    /// How the generation is set.
    pub(crate) generation: Generation,
    /// Updates of the status keep labels and annotations.
    pub(crate) metadata_with_status: bool,
    /// An update does not need a resource version.
    pub(crate) unconditional_update: bool,
    /// An update of a missing object creates it.
    pub(crate) create_on_update: bool,
}

/// How a kind's generation is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// Not set by the server.
    Unused,
    /// Always 1.
    Fixed,
    /// Starts at 1, incremented with the spec.
    Spec,
    /// Starts unset, incremented with the spec.
    SpecFromZero,
    /// Starts at 1, incremented with anything but metadata and status.
    Content,
}

/// Returns the strategy of a built-in kind.
pub(crate) fn strategy(group: &str, kind: &str) -> Strategy {
    use Generation::{Content, Fixed, Spec, SpecFromZero, Unused};
    let (status, generation) = match (group, kind) {
        ("", "Pod" | "ReplicationController")
        | ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job" | "CronJob")
        | ("networking.k8s.io", "Ingress")
        | ("policy", "PodDisruptionBudget")
        | ("flowcontrol.apiserver.k8s.io", _)
        | ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy")
        | ("apiextensions.k8s.io", "CustomResourceDefinition")
        | ("resource.k8s.io", "DeviceTaintRule") => (true, Spec),
        ("networking.k8s.io", "IngressClass" | "NetworkPolicy")
        | ("resource.k8s.io", "DeviceClass" | "ResourceSlice") => (false, Spec),
        ("admissionregistration.k8s.io", name) if name.contains("Policy") => (false, Spec),
        ("admissionregistration.k8s.io", _) | ("discovery.k8s.io", "EndpointSlice") | ("", "PodTemplate") => {
            (false, Content)
        }
        ("scheduling.k8s.io", "PriorityClass") => (false, Fixed),
        ("storage.k8s.io", "CSIDriver") => (false, SpecFromZero),
        (
            "",
            "Namespace" | "Node" | "PersistentVolume" | "PersistentVolumeClaim" | "ResourceQuota" | "Service",
        )
        | ("apiregistration.k8s.io", "APIService")
        | ("autoscaling", "HorizontalPodAutoscaler")
        | ("certificates.k8s.io", "CertificateSigningRequest" | "PodCertificateRequest")
        | ("networking.k8s.io", "ServiceCIDR")
        | ("storage.k8s.io", "VolumeAttachment")
        | ("scheduling.k8s.io", "PodGroup")
        | ("resource.k8s.io", "ResourceClaim" | "ResourcePoolStatusRequest")
        | ("internal.apiserver.k8s.io", "StorageVersion")
        | ("storagemigration.k8s.io", "StorageVersionMigration") => (true, Unused),
        _ => (false, Unused),
    };
    let metadata_with_status = !matches!(
        (group, kind),
        ("storage.k8s.io", "VolumeAttachment")
            | ("scheduling.k8s.io", "PodGroup")
            | (
                "resource.k8s.io"
                    | "storagemigration.k8s.io"
                    | "flowcontrol.apiserver.k8s.io"
                    | "admissionregistration.k8s.io"
                    | "apiregistration.k8s.io"
                    | "internal.apiserver.k8s.io",
                _
            )
            | ("certificates.k8s.io", "PodCertificateRequest")
            | ("networking.k8s.io", "ServiceCIDR")
    );
    Strategy {
        status,
        generation,
        metadata_with_status,
        unconditional_update: !needs_version(group, kind),
        create_on_update: matches!(
            (group, kind),
            ("", "Endpoints" | "Event" | "LimitRange" | "Service")
                | (
                    "coordination.k8s.io" | "events.k8s.io" | "node.k8s.io" | "rbac.authorization.k8s.io",
                    _
                )
        ),
    }
}

/// Returns whether an update requires a resource version.
fn needs_version(group: &str, kind: &str) -> bool {
    match (group, kind) {
        ("certificates.k8s.io", kind) => kind != "CertificateSigningRequest",
        ("storage.k8s.io", kind) => !matches!(kind, "StorageClass" | "VolumeAttributesClass"),
        ("resource.k8s.io", kind) => kind == "ResourcePoolStatusRequest",
        (
            "admissionregistration.k8s.io"
            | "apiextensions.k8s.io"
            | "apiregistration.k8s.io"
            | "coordination.k8s.io"
            | "internal.apiserver.k8s.io"
            | "node.k8s.io"
            | "policy"
            | "storagemigration.k8s.io",
            _,
        ) => true,
        _ => false,
    }
}
