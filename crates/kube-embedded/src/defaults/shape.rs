//! Which part of a kind belongs to which resource, and what moves its generation.

/// How a kind is divided between its main resource and its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Shape {
    /// The status belongs to the status subresource.
    pub(crate) status: bool,
    /// New objects have generation 1, and it moves with what the kind's controller acts on.
    pub(crate) generation: Generation,
    /// Labels and annotations that come with a status are kept.
    pub(crate) metadata_with_status: bool,
    /// An update need not say which version it replaces.
    pub(crate) unconditional_update: bool,
    /// An update of what does not exist creates it.
    pub(crate) create_on_update: bool,
}

/// What moves a kind's generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// The kind does not use it: a client's value stays.
    Unused,
    /// New objects start at 1, nothing moves it.
    Fixed,
    /// Starts at 1, moves with the spec.
    Spec,
    /// Starts unset, moves with the spec.
    SpecFromZero,
    /// Starts at 1, moves with anything but metadata and status.
    Content,
}

/// The shape of a built-in kind.
pub(crate) fn shape(group: &str, kind: &str) -> Shape {
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
    Shape {
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

/// An update has to name the version it replaces.
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
