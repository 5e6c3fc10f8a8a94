//! Kinds whose objects are decoded as their types.

use std::fmt::Debug;

use k8s_openapi::Resource;
use k8s_openapi::api::{
    admissionregistration, apps, autoscaling, batch, coordination, core, discovery, events, networking, rbac,
    resource,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions;
use kube_wire::FieldMask;
use kube_wire::protobuf::{Error, Schema};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::memory::Bound;

/// A message of two bytes becomes an element of a list, which is a struct of several hundred bytes with all
/// its options.
const TYPED: Bound = Bound {
    base: 1 << 20,
    per_byte: 4 << 10,
};

/// A kind and its type.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    schema: fn() -> Schema,
    typed: fn(Schema, &[u8]) -> Result<(), Error>,
    like_json: fn(Schema, &[u8], &Value),
    /// Whether the type can decode every valid message.
    pub(super) is_covered: bool,
}

/// The most frequent kinds, those with the deepest objects, and those with every kind of field.
pub(super) const KINDS: &[Kind] = &[
    Kind::of::<core::v1::ConfigMap>(),
    Kind::of::<core::v1::Pod>(),
    Kind::of::<core::v1::Secret>(),
    Kind::of::<core::v1::Service>(),
    Kind::of::<core::v1::Node>(),
    Kind::of::<core::v1::Event>(),
    Kind::of::<core::v1::PersistentVolume>(),
    Kind::of::<apps::v1::Deployment>(),
    Kind::of::<apps::v1::ControllerRevision>(),
    Kind::of::<apps::v1::StatefulSet>(),
    Kind::of::<autoscaling::v2::HorizontalPodAutoscaler>(),
    Kind::of::<batch::v1::CronJob>(),
    Kind::of::<coordination::v1::Lease>(),
    Kind::of::<discovery::v1::EndpointSlice>(),
    Kind::of::<events::v1::Event>(),
    Kind::of::<networking::v1::NetworkPolicy>(),
    Kind::of::<rbac::v1::ClusterRole>(),
    Kind::of::<resource::v1::ResourceSlice>(),
    Kind::of::<admissionregistration::v1::ValidatingAdmissionPolicy>(),
    Kind::open::<apiextensions::v1::CustomResourceDefinition>(),
];

impl Kind {
    const fn of<K: Resource + DeserializeOwned + PartialEq + Debug>() -> Kind {
        Kind {
            schema: || Schema::of(K::API_VERSION, K::KIND).expect("a known kind"),
            typed: |schema, message| read::<K>(schema, message).map(drop),
            like_json: |schema, message, json| {
                // Not from text: serde_json decodes the last bit of long fractions wrongly.
                let wanted = serde_json::from_value::<K>(json.clone());
                match (wanted, read::<K>(schema, message)) {
                    (Ok(wanted), Ok(found)) => assert_eq!(found, wanted),
                    (Err(_), Err(_)) => {}
                    (wanted, found) => panic!("expected {wanted:?}, found {found:?}"),
                }
            },
            is_covered: true,
        }
    }

    /// A kind whose type accepts any value in some of its fields.
    const fn open<K: Resource + DeserializeOwned + PartialEq + Debug>() -> Kind {
        Kind {
            is_covered: false,
            ..Kind::of::<K>()
        }
    }

    pub(super) fn schema(&self) -> Schema {
        (self.schema)()
    }

    /// Decodes a message as the type.
    pub(super) fn read(&self, message: &[u8]) -> Result<(), Error> {
        (self.typed)(self.schema(), message)
    }

    /// Asserts that the type decodes the same from a message as from the object in JSON.
    pub(super) fn assert_like_json(&self, message: &[u8], json: &Value) {
        (self.like_json)(self.schema(), message, json);
    }
}

fn read<K: DeserializeOwned>(schema: Schema, message: &[u8]) -> Result<K, Error> {
    TYPED.keep(message.len(), || schema.decode(message, &FieldMask::none()))
}
