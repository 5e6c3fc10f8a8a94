//! The built-in kinds of Kubernetes. Written by `cargo xtask tables`; not edited by hand.
//!
//! A kind, version or group that not every version of Kubernetes has is followed by the macros of k8s-openapi that
//! say which ones have it.

macro_rules! built_in_kinds {
    ($callback:ident) => {
        $callback! {
            admissionregistration AdmissionregistrationGroup "admissionregistration.k8s.io" {
                v1 AdmissionregistrationV1 (api::admissionregistration::v1) {
                    mutating_admission_policies MutatingAdmissionPolicy "mutatingadmissionpolicies" [k8s_if_ge_1_36];
                    mutating_admission_policy_bindings MutatingAdmissionPolicyBinding "mutatingadmissionpolicybindings" [k8s_if_ge_1_36];
                    mutating_webhook_configurations MutatingWebhookConfiguration "mutatingwebhookconfigurations";
                    validating_admission_policies ValidatingAdmissionPolicy "validatingadmissionpolicies";
                    validating_admission_policy_bindings ValidatingAdmissionPolicyBinding "validatingadmissionpolicybindings";
                    validating_webhook_configurations ValidatingWebhookConfiguration "validatingwebhookconfigurations";
                }
                v1alpha1 AdmissionregistrationV1alpha1 (api::admissionregistration::v1alpha1) {
                    mutating_admission_policies MutatingAdmissionPolicy "mutatingadmissionpolicies";
                    mutating_admission_policy_bindings MutatingAdmissionPolicyBinding "mutatingadmissionpolicybindings";
                }
                v1beta1 AdmissionregistrationV1beta1 (api::admissionregistration::v1beta1) {
                    mutating_admission_policies MutatingAdmissionPolicy "mutatingadmissionpolicies" [k8s_if_ge_1_34];
                    mutating_admission_policy_bindings MutatingAdmissionPolicyBinding "mutatingadmissionpolicybindings" [k8s_if_ge_1_34];
                    validating_admission_policies ValidatingAdmissionPolicy "validatingadmissionpolicies" [k8s_if_le_1_33];
                    validating_admission_policy_bindings ValidatingAdmissionPolicyBinding "validatingadmissionpolicybindings" [k8s_if_le_1_33];
                }
            }
            apiextensions ApiextensionsGroup "apiextensions.k8s.io" {
                v1 ApiextensionsV1 (apiextensions_apiserver::pkg::apis::apiextensions::v1) {
                    custom_resource_definitions CustomResourceDefinition "customresourcedefinitions";
                }
            }
            apiregistration ApiregistrationGroup "apiregistration.k8s.io" {
                v1 ApiregistrationV1 (kube_aggregator::pkg::apis::apiregistration::v1) {
                    api_services APIService "apiservices";
                }
            }
            apps AppsGroup "apps" {
                v1 AppsV1 (api::apps::v1) {
                    controller_revisions ControllerRevision "controllerrevisions";
                    daemon_sets DaemonSet "daemonsets";
                    deployments Deployment "deployments";
                    replica_sets ReplicaSet "replicasets";
                    stateful_sets StatefulSet "statefulsets";
                }
            }
            autoscaling AutoscalingGroup "autoscaling" {
                v1 AutoscalingV1 (api::autoscaling::v1) {
                    horizontal_pod_autoscalers HorizontalPodAutoscaler "horizontalpodautoscalers";
                }
                v2 AutoscalingV2 (api::autoscaling::v2) {
                    horizontal_pod_autoscalers HorizontalPodAutoscaler "horizontalpodautoscalers";
                }
            }
            batch BatchGroup "batch" {
                v1 BatchV1 (api::batch::v1) {
                    cron_jobs CronJob "cronjobs";
                    jobs Job "jobs";
                }
            }
            certificates CertificatesGroup "certificates.k8s.io" {
                v1 CertificatesV1 (api::certificates::v1) {
                    certificate_signing_requests CertificateSigningRequest "certificatesigningrequests";
                    cluster_trust_bundles ClusterTrustBundle "clustertrustbundles" [k8s_if_ge_1_37];
                    pod_certificate_requests PodCertificateRequest "podcertificaterequests" [k8s_if_ge_1_37];
                }
                v1alpha1 CertificatesV1alpha1 (api::certificates::v1alpha1) [k8s_if_le_1_36] {
                    cluster_trust_bundles ClusterTrustBundle "clustertrustbundles";
                    pod_certificate_requests PodCertificateRequest "podcertificaterequests" [k8s_if_ge_1_34 k8s_if_le_1_34];
                }
                v1beta1 CertificatesV1beta1 (api::certificates::v1beta1) {
                    cluster_trust_bundles ClusterTrustBundle "clustertrustbundles";
                    pod_certificate_requests PodCertificateRequest "podcertificaterequests" [k8s_if_ge_1_35];
                }
            }
            coordination CoordinationGroup "coordination.k8s.io" {
                v1 CoordinationV1 (api::coordination::v1) {
                    leases Lease "leases";
                }
                v1alpha2 CoordinationV1alpha2 (api::coordination::v1alpha2) {
                    lease_candidates LeaseCandidate "leasecandidates";
                }
                v1beta1 CoordinationV1beta1 (api::coordination::v1beta1) {
                    lease_candidates LeaseCandidate "leasecandidates";
                }
            }
            core CoreGroup "core" {
                v1 CoreV1 (api::core::v1) {
                    component_statuses ComponentStatus "componentstatuses";
                    config_maps ConfigMap "configmaps";
                    endpoints Endpoints "endpoints";
                    events Event "events";
                    limit_ranges LimitRange "limitranges";
                    namespaces Namespace "namespaces";
                    nodes Node "nodes";
                    persistent_volumes PersistentVolume "persistentvolumes";
                    persistent_volume_claims PersistentVolumeClaim "persistentvolumeclaims";
                    pods Pod "pods";
                    pod_templates PodTemplate "podtemplates";
                    replication_controllers ReplicationController "replicationcontrollers";
                    resource_quotas ResourceQuota "resourcequotas";
                    secrets Secret "secrets";
                    services Service "services";
                    service_accounts ServiceAccount "serviceaccounts";
                }
            }
            discovery DiscoveryGroup "discovery.k8s.io" {
                v1 DiscoveryV1 (api::discovery::v1) {
                    endpoint_slices EndpointSlice "endpointslices";
                }
            }
            events EventsGroup "events.k8s.io" {
                v1 EventsV1 (api::events::v1) {
                    events Event "events";
                }
            }
            flowcontrol FlowcontrolGroup "flowcontrol.apiserver.k8s.io" {
                v1 FlowcontrolV1 (api::flowcontrol::v1) {
                    flow_schemas FlowSchema "flowschemas";
                    priority_level_configurations PriorityLevelConfiguration "prioritylevelconfigurations";
                }
            }
            internal InternalGroup "internal.apiserver.k8s.io" {
                v1alpha1 InternalV1alpha1 (api::apiserverinternal::v1alpha1) {
                    storage_versions StorageVersion "storageversions";
                }
            }
            lifecycle LifecycleGroup "lifecycle.k8s.io" [k8s_if_ge_1_37] {
                v1alpha1 LifecycleV1alpha1 (api::lifecycle::v1alpha1) {
                    evictions Eviction "evictions";
                    eviction_requests EvictionRequest "evictionrequests";
                }
            }
            networking NetworkingGroup "networking.k8s.io" {
                v1 NetworkingV1 (api::networking::v1) {
                    ingresses Ingress "ingresses";
                    ingress_classes IngressClass "ingressclasses";
                    ip_addresses IPAddress "ipaddresses";
                    network_policies NetworkPolicy "networkpolicies";
                    service_cidrs ServiceCIDR "servicecidrs";
                }
                v1beta1 NetworkingV1beta1 (api::networking::v1beta1) [k8s_if_le_1_36] {
                    ip_addresses IPAddress "ipaddresses";
                    service_cidrs ServiceCIDR "servicecidrs";
                }
            }
            node NodeGroup "node.k8s.io" {
                v1 NodeV1 (api::node::v1) {
                    runtime_classes RuntimeClass "runtimeclasses";
                }
            }
            policy PolicyGroup "policy" {
                v1 PolicyV1 (api::policy::v1) {
                    pod_disruption_budgets PodDisruptionBudget "poddisruptionbudgets";
                }
            }
            rbac RbacGroup "rbac.authorization.k8s.io" {
                v1 RbacV1 (api::rbac::v1) {
                    cluster_roles ClusterRole "clusterroles";
                    cluster_role_bindings ClusterRoleBinding "clusterrolebindings";
                    roles Role "roles";
                    role_bindings RoleBinding "rolebindings";
                }
            }
            resource ResourceGroup "resource.k8s.io" {
                v1 ResourceV1 (api::resource::v1) [k8s_if_ge_1_34] {
                    device_classes DeviceClass "deviceclasses";
                    device_taint_rules DeviceTaintRule "devicetaintrules" [k8s_if_ge_1_37];
                    resource_claims ResourceClaim "resourceclaims";
                    resource_claim_templates ResourceClaimTemplate "resourceclaimtemplates";
                    resource_slices ResourceSlice "resourceslices";
                }
                v1alpha3 ResourceV1alpha3 (api::resource::v1alpha3) {
                    device_classes DeviceClass "deviceclasses" [k8s_if_le_1_33];
                    device_taint_rules DeviceTaintRule "devicetaintrules";
                    resource_claims ResourceClaim "resourceclaims" [k8s_if_le_1_33];
                    resource_claim_templates ResourceClaimTemplate "resourceclaimtemplates" [k8s_if_le_1_33];
                    resource_pool_status_requests ResourcePoolStatusRequest "resourcepoolstatusrequests" [k8s_if_ge_1_36];
                    resource_slices ResourceSlice "resourceslices" [k8s_if_le_1_33];
                }
                v1beta1 ResourceV1beta1 (api::resource::v1beta1) {
                    device_classes DeviceClass "deviceclasses";
                    resource_claims ResourceClaim "resourceclaims";
                    resource_claim_templates ResourceClaimTemplate "resourceclaimtemplates";
                    resource_slices ResourceSlice "resourceslices";
                }
                v1beta2 ResourceV1beta2 (api::resource::v1beta2) {
                    device_classes DeviceClass "deviceclasses";
                    device_taint_rules DeviceTaintRule "devicetaintrules" [k8s_if_ge_1_36];
                    resource_claims ResourceClaim "resourceclaims";
                    resource_claim_templates ResourceClaimTemplate "resourceclaimtemplates";
                    resource_slices ResourceSlice "resourceslices";
                }
            }
            scheduling SchedulingGroup "scheduling.k8s.io" {
                v1 SchedulingV1 (api::scheduling::v1) {
                    priority_classes PriorityClass "priorityclasses";
                }
                v1alpha1 SchedulingV1alpha1 (api::scheduling::v1alpha1) [k8s_if_ge_1_35 k8s_if_le_1_35] {
                    workloads Workload "workloads";
                }
                v1alpha2 SchedulingV1alpha2 (api::scheduling::v1alpha2) [k8s_if_ge_1_36 k8s_if_le_1_36] {
                    pod_groups PodGroup "podgroups";
                    workloads Workload "workloads";
                }
                v1alpha3 SchedulingV1alpha3 (api::scheduling::v1alpha3) [k8s_if_ge_1_37] {
                    composite_pod_groups CompositePodGroup "compositepodgroups";
                    pod_groups PodGroup "podgroups";
                    workloads Workload "workloads";
                }
                v1beta1 SchedulingV1beta1 (api::scheduling::v1beta1) [k8s_if_ge_1_37] {
                    pod_groups PodGroup "podgroups";
                    workloads Workload "workloads";
                }
            }
            storage StorageGroup "storage.k8s.io" {
                v1 StorageV1 (api::storage::v1) {
                    csi_drivers CSIDriver "csidrivers";
                    csi_nodes CSINode "csinodes";
                    csi_storage_capacities CSIStorageCapacity "csistoragecapacities";
                    storage_classes StorageClass "storageclasses";
                    volume_attachments VolumeAttachment "volumeattachments";
                    volume_attributes_classes VolumeAttributesClass "volumeattributesclasses" [k8s_if_ge_1_34];
                }
                v1alpha1 StorageV1alpha1 (api::storage::v1alpha1) [k8s_if_le_1_34] {
                    volume_attributes_classes VolumeAttributesClass "volumeattributesclasses";
                }
                v1beta1 StorageV1beta1 (api::storage::v1beta1) [k8s_if_le_1_36] {
                    volume_attributes_classes VolumeAttributesClass "volumeattributesclasses";
                }
            }
            storagemigration StoragemigrationGroup "storagemigration.k8s.io" {
                v1 StoragemigrationV1 (api::storagemigration::v1) [k8s_if_ge_1_37] {
                    storage_version_migrations StorageVersionMigration "storageversionmigrations";
                }
                v1alpha1 StoragemigrationV1alpha1 (api::storagemigration::v1alpha1) [k8s_if_le_1_34] {
                    storage_version_migrations StorageVersionMigration "storageversionmigrations";
                }
                v1beta1 StoragemigrationV1beta1 (api::storagemigration::v1beta1) [k8s_if_ge_1_35] {
                    storage_version_migrations StorageVersionMigration "storageversionmigrations";
                }
            }
        }
    };
}

pub(crate) use built_in_kinds;
