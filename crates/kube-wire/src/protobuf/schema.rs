//! What is known of a kind, and what can be done with its messages.

use std::num::NonZeroU16;

use serde::Deserialize;

use super::{Error, deserialize, metadata};
use crate::field_mask::FieldMask;
use crate::table::{KindId, MessageId, table};

/// How objects of one kind look in protobuf.
///
/// All methods take an object's message without its envelope, as [`Envelope::raw`](super::Envelope::raw) and the items of a
/// list are.
///
/// ```
/// use kube_wire::FieldMask;
/// use kube_wire::protobuf::{Envelope, Schema, encode};
/// use serde::Deserialize;
///
/// /// What this program wants to know of a scale.
/// #[derive(Deserialize)]
/// struct Scale<'a> {
///     #[serde(borrow)]
///     metadata: Metadata<'a>,
///     spec: Spec,
/// }
///
/// #[derive(Deserialize)]
/// struct Metadata<'a> {
///     name: &'a str,
/// }
///
/// #[derive(Deserialize)]
/// struct Spec {
///     replicas: i32,
/// }
///
/// let bytes = encode(&serde_json::json!({
///     "apiVersion": "autoscaling/v1",
///     "kind": "Scale",
///     "metadata": {"name": "web"},
///     "spec": {"replicas": 3},
/// }))?;
/// let envelope = Envelope::parse(&bytes)?;
/// let schema = Schema::of(envelope.api_version, envelope.kind).expect("Kubernetes has scales");
///
/// let scale: Scale = schema.decode(envelope.raw, &FieldMask::none())?;
/// assert_eq!((scale.metadata.name, scale.spec.replicas), ("web", 3));
/// # Ok::<(), kube_wire::protobuf::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema {
    kind: KindId,
    pub(super) id: MessageId,
    /// The number of the field that holds an object's metadata.
    pub(super) metadata: Option<NonZeroU16>,
}

impl Schema {
    /// The schema of a kind; none for custom resources, for kinds that are newer than this library, and for those that
    /// are of no group, such as the options of a request. Their objects are read from JSON.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        let kind = table().own_kind(api_version, kind)?;
        let (_, _, id) = table().kind_at(kind);
        Some(Self {
            kind,
            id,
            metadata: metadata::number(id),
        })
    }

    /// The apiVersion of its objects.
    pub fn api_version(&self) -> &'static str {
        table().kind_at(self.kind).0
    }

    /// The kind of its objects.
    pub fn kind(&self) -> &'static str {
        table().kind_at(self.kind).1
    }

    /// Reads an object as any type that could be read from its JSON.
    ///
    /// The type sees `apiVersion` and `kind`, then what is in the message. What it does not ask for, and what is to be
    /// left out, is not looked into. Text can be borrowed from the message.
    ///
    /// What only serde_json itself can read, such as its `RawValue`, cannot be read here.
    pub fn decode<'de, T: Deserialize<'de>>(&self, message: &'de [u8], mask: &FieldMask) -> Result<T, Error> {
        deserialize::object(self.api_version(), self.kind(), self.id, message, mask)
    }
}
