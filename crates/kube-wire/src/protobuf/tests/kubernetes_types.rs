//! Reading into k8s-openapi's types.

use std::fmt::Debug;

use k8s_openapi::Resource;
use serde::de::DeserializeOwned;

use super::super::Schema;
use super::random::Maker;
use super::typed::reference;
use crate::Skip;

/// An object is the same whether it came as JSON or as protobuf.
fn is_the_same_in_both<K: Resource + DeserializeOwned + PartialEq + Debug>() {
    let schema = Schema::of(K::API_VERSION, K::KIND).unwrap_or_else(|| panic!("no schema of {}", K::KIND));
    // Of some fields of these it takes whatever there is.
    let takes_anything = ["CustomResourceDefinition", "Eviction", "StorageVersion"].contains(&K::KIND);
    assert_eq!(schema.covers::<K>(), !takes_anything, "{}", K::KIND);
    let mut good = 0;
    for messy in [false, true] {
        let mut maker = Maker::new(21, messy);
        for _ in 0..8 {
            let message = maker.message(schema.id, 0);
            let json = serde_json::to_vec(&reference(schema, &message).unwrap()).unwrap();
            let found = schema.decode::<K>(&message, &Skip::nothing());
            match (serde_json::from_slice::<K>(&json), found) {
                (Ok(wanted), Ok(found)) => {
                    assert_eq!(found, wanted, "{schema:?} {message:?}");
                    good += 1;
                }
                (Err(_), Err(_)) => {}
                (wanted, found) => panic!("{schema:?} {message:?}: {found:?} instead of {wanted:?}"),
            }
        }
    }
    assert!(good > 0, "nothing of {} could be read", K::KIND);
}

/// Whatever is found to be good can be read as a type that is covered.
fn what_is_good_can_be_read<K: Resource + DeserializeOwned>() {
    let schema = Schema::of(K::API_VERSION, K::KIND).unwrap_or_else(|| panic!("no schema of {}", K::KIND));
    if !schema.covers::<K>() {
        return;
    }
    let mut random = fastrand::Rng::with_seed(5);
    let mut good = 0;
    for messy in [false, true] {
        let mut maker = Maker::new(22, messy);
        for _ in 0..20 {
            let mut message = maker.message(schema.id, 0);
            for _ in 0..20 {
                let checked = schema.check(&message);
                let read = schema.decode::<K>(&message, &Skip::nothing());
                if checked.is_ok() {
                    good += 1;
                    if let Err(error) = read {
                        panic!("{} cannot be read: {error}", K::KIND);
                    }
                }
                if !message.is_empty() {
                    let at = random.usize(..message.len());
                    message[at] = random.u8(..);
                }
            }
        }
    }
    assert!(good > 0, "nothing of {} was found to be good", K::KIND);
}

macro_rules! kinds {
    ($($test:ident: $module:path { $($kind:ident)* })*) => {$(
        #[test]
        fn $test() {
            use $module as module;
            $(is_the_same_in_both::<module::$kind>();)*
            $(what_is_good_can_be_read::<module::$kind>();)*
        }
    )*};
}

kinds! {
    admissionregistration: k8s_openapi::api::admissionregistration::v1 {
        MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
        ValidatingWebhookConfiguration
    }
    apiserverinternal: k8s_openapi::api::apiserverinternal::v1alpha1 { StorageVersion }
    apps: k8s_openapi::api::apps::v1 { ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet }
    authentication: k8s_openapi::api::authentication::v1 { SelfSubjectReview TokenRequest TokenReview }
    authorization: k8s_openapi::api::authorization::v1 {
        LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview
    }
    autoscaling_v1: k8s_openapi::api::autoscaling::v1 { HorizontalPodAutoscaler Scale }
    autoscaling: k8s_openapi::api::autoscaling::v2 { HorizontalPodAutoscaler }
    batch: k8s_openapi::api::batch::v1 { CronJob Job }
    certificates: k8s_openapi::api::certificates::v1 { CertificateSigningRequest }
    coordination: k8s_openapi::api::coordination::v1 { Lease }
    core: k8s_openapi::api::core::v1 {
        Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume
        PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount
    }
    discovery: k8s_openapi::api::discovery::v1 { EndpointSlice }
    events: k8s_openapi::api::events::v1 { Event }
    flowcontrol: k8s_openapi::api::flowcontrol::v1 { FlowSchema PriorityLevelConfiguration }
    networking: k8s_openapi::api::networking::v1 { IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR }
    node: k8s_openapi::api::node::v1 { RuntimeClass }
    policy: k8s_openapi::api::policy::v1 { Eviction PodDisruptionBudget }
    rbac: k8s_openapi::api::rbac::v1 { ClusterRole ClusterRoleBinding Role RoleBinding }
    resource: k8s_openapi::api::resource::v1 { DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice }
    scheduling: k8s_openapi::api::scheduling::v1 { PriorityClass }
    storage: k8s_openapi::api::storage::v1 {
        CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass
    }
    apiextensions: k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 { CustomResourceDefinition }
    apiregistration: k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1 { APIService }
}
