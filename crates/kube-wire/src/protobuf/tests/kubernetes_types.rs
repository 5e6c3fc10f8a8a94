//! Decoding into the types of k8s-openapi.

use std::fmt::Debug;

use k8s_openapi::Resource;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::writer::Writer;
use super::super::{Envelope, MAX_DEPTH, Schema, encode};
use super::decode_types::reference;
use super::generator::MessageGenerator;
use crate::FieldMask;
use crate::table::table;

/// Checks that objects are decoded to the same value from JSON and protobuf.
fn check_equal_to_json<K: Resource + DeserializeOwned + PartialEq + Debug>() {
    let schema = Schema::of(K::API_VERSION, K::KIND).unwrap_or_else(|| panic!("no schema of {}", K::KIND));
    // These types accept any value for some fields.
    let accepts_any_field = ["CustomResourceDefinition", "Eviction", "StorageVersion"].contains(&K::KIND);
    assert_eq!(schema.covers::<K>(), !accepts_any_field, "{}", K::KIND);
    let mut valid_count = 0;
    for messy in [false, true] {
        let mut generator = MessageGenerator::new(21, messy);
        for _ in 0..8 {
            let message = generator.message(schema.id, 0);
            let json = serde_json::to_vec(&reference(schema, &message).unwrap()).unwrap();
            let found = schema.decode::<K>(&message, &FieldMask::none());
            match (serde_json::from_slice::<K>(&json), found) {
                (Ok(expected), Ok(found)) => {
                    assert_eq!(found, expected, "{schema:?} {message:?}");
                    valid_count += 1;
                }
                (Err(_), Err(_)) => {}
                (expected, found) => panic!("{schema:?} {message:?}: {found:?} instead of {expected:?}"),
            }
        }
    }
    assert!(valid_count > 0, "no message of {} was decoded", K::KIND);
}

/// Checks that messages that pass `check` can be decoded into covered types.
fn check_decodable<K: Resource + DeserializeOwned>() {
    let schema = Schema::of(K::API_VERSION, K::KIND).unwrap_or_else(|| panic!("no schema of {}", K::KIND));
    if !schema.covers::<K>() {
        return;
    }
    let mut random = fastrand::Rng::with_seed(5);
    let mut valid_count = 0;
    for messy in [false, true] {
        let mut generator = MessageGenerator::new(22, messy);
        for _ in 0..20 {
            let mut message = generator.message(schema.id, 0);
            for _ in 0..20 {
                let checked = schema.check(&message);
                let read = schema.decode::<K>(&message, &FieldMask::none());
                if checked.is_ok() {
                    valid_count += 1;
                    if let Err(error) = read {
                        panic!("cannot decode {}: {error}", K::KIND);
                    }
                }
                if !message.is_empty() {
                    let at = random.usize(..message.len());
                    message[at] = random.u8(..);
                }
            }
        }
    }
    assert!(valid_count > 0, "no message of {} passed the check", K::KIND);
}

#[test]
fn check_rejects_times_that_some_types_do_not_support() {
    let schema = Schema::of("coordination.k8s.io/v1", "Lease").unwrap();
    for (time, is_valid) in [
        ("9999-12-30T22:00:00.999999Z", true),
        ("9999-12-30T22:00:01.000000Z", false),
        ("9999-12-31T23:59:59.000000Z", false),
        ("0000-01-01T00:00:00.000000Z", true),
    ] {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}, "spec": {"renewTime": time},
        });
        let bytes = encode(&lease).unwrap();
        let message = Envelope::parse(&bytes).unwrap().raw;
        assert_eq!(schema.check(message).is_ok(), is_valid, "{time}");
        assert_eq!(
            schema.decode::<Lease>(message, &FieldMask::none()).is_ok(),
            is_valid,
            "{time}"
        );
    }
}

#[test]
fn check_accepts_any_order_and_rejects_missing_fields() {
    let schema = Schema::of("authentication.k8s.io/v1", "TokenRequest").unwrap();
    let token = &b"\x0a\x01a"[..];
    let time = b"\x12\x02\x08\x01";
    for (status, is_valid) in [
        ([token, time].concat(), true),
        ([time, token].concat(), true),
        ([token, time, token].concat(), true),
        (time.to_vec(), true),
        // The same with a tag that is longer than necessary.
        (b"\x92\x80\x00\x02\x08\x01".to_vec(), true),
        (token.to_vec(), false),
        (b"\x0a\x01a\x12\x00".to_vec(), false),
    ] {
        let mut writer = Writer::default();
        writer.bytes_field(3, &status);
        let message = writer.finish();
        let read = schema.decode::<TokenRequest>(&message, &FieldMask::none());
        assert!(read.is_ok(), "{status:?}");
        assert_eq!(schema.check(&message).is_ok(), is_valid, "{status:?}");
    }
    // This type accepts a missing time, but others do not.
    assert!(schema.check(b"").is_err());
}

#[test]
fn checked_nested_envelopes_can_be_decoded() {
    let schema = Schema::of("v1", "List").unwrap();
    // Absent messages are printed two levels deep.
    let mut bytes = Envelope::new("apps/v1", "Deployment", b"").to_bytes();
    let mut valid_count = 0;
    for _ in 0..MAX_DEPTH {
        let mut writer = Writer::default();
        writer.bytes_field(1, &bytes);
        writer.close_since(2, 0);
        let message = writer.finish();
        if schema.check(&message).is_ok() {
            valid_count += 1;
            if let Err(error) = schema.decode::<Value>(&message, &FieldMask::none()) {
                panic!("{valid_count} envelopes: {error}");
            }
        }
        bytes = Envelope::new("v1", "List", &message).to_bytes();
    }
    assert!(
        valid_count > MAX_DEPTH / 4,
        "only {valid_count} messages passed the check"
    );
}

/// Returns a definition with one version that has this schema.
fn definition(schema: &[u8]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.bytes_field(1, schema);
    for number in [4, 7, 2] {
        writer.close_since(number, 0);
    }
    writer.finish()
}

#[test]
fn check_rejects_missing_required_schemas() {
    let schema = Schema::of("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
    // 24 is `items`, which is optional; 32 is `dependencies`, by name.
    let items = definition(b"\xc2\x01\x00");
    let [nothing, empty, text] = [
        &b"\x82\x02\x03\x0a\x01a"[..],
        b"\x82\x02\x05\x0a\x01a\x12\x00",
        b"\x82\x02\x08\x0a\x01a\x12\x03\x12\x01b",
    ]
    .map(definition);
    for (message, is_valid) in [(items, true), (nothing, false), (empty, false), (text, true)] {
        let read = schema.decode::<CustomResourceDefinition>(&message, &FieldMask::none());
        assert_eq!(read.is_ok(), is_valid, "{message:?}");
        assert_eq!(schema.check(&message).is_ok(), is_valid, "{message:?}");
    }
}

#[test]
fn checked_definitions_can_be_decoded() {
    let schema = Schema::of("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
    let name = "k8s.io.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
    let id = table().message_named(name).unwrap();
    let mut valid_count = 0;
    for messy in [false, true] {
        let mut generator = MessageGenerator::new(23, messy);
        for _ in 0..300 {
            let message = definition(&generator.message(id, 3));
            if schema.check(&message).is_ok() {
                valid_count += 1;
                if let Err(error) = schema.decode::<CustomResourceDefinition>(&message, &FieldMask::none()) {
                    panic!("cannot decode {message:?}: {error}");
                }
            }
        }
    }
    assert!(valid_count > 100, "only {valid_count} messages passed the check");
}

macro_rules! kinds {
    ($($test:ident: $module:path { $($kind:ident)* })*) => {$(
        #[test]
        fn $test() {
            use $module as module;
            $(check_equal_to_json::<module::$kind>();)*
            $(check_decodable::<module::$kind>();)*
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
