//! Schemas of kinds.

use std::num::NonZeroU16;

use serde::Deserialize;

use super::{Error, deserialize, metadata};
use crate::field_mask::FieldMask;
use crate::table::{KindId, MessageId, table};

/// The protobuf schema of a kind.
///
/// All methods take the message of an object without its envelope, as in [`Envelope::raw`](super::Envelope::raw) and
/// the items of a list.
///
/// # Examples
///
/// ```
/// use kube_wire::FieldMask;
/// use kube_wire::protobuf::{Envelope, Schema, encode};
/// use serde::Deserialize;
///
/// /// A projection of a scale.
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
/// let schema = Schema::of(envelope.api_version, envelope.kind).expect("built-in kind");
///
/// let scale: Scale = schema.decode(envelope.raw, &FieldMask::none())?;
/// assert_eq!((scale.metadata.name, scale.spec.replicas), ("web", 3));
/// # Ok::<(), kube_wire::protobuf::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema {
    kind: KindId,
    pub(super) id: MessageId,
    /// Number of the metadata field.
    pub(super) metadata: Option<NonZeroU16>,
}

impl Schema {
    /// Returns the schema of a kind.
    ///
    /// Returns `None` for custom resources, for kinds newer than this crate, and for kinds without a group, such as
    /// the options of a request. Use JSON for their objects.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        let kind = table().own_kind(api_version, kind)?;
        let (_, _, id) = table().kind_at(kind);
        Some(Self {
            kind,
            id,
            metadata: metadata::field_number(id),
        })
    }

    /// Returns the apiVersion of the objects.
    pub fn api_version(&self) -> &'static str {
        table().kind_at(self.kind).0
    }

    /// Returns the kind of the objects.
    pub fn kind(&self) -> &'static str {
        table().kind_at(self.kind).1
    }

    /// Decodes an object into any type that can be decoded from its JSON.
    ///
    /// The type receives `apiVersion` and `kind`, then the fields of the message. Masked fields, and fields that the
    /// type does not request, are skipped. Text can be borrowed from the message. Types that only serde_json
    /// supports, such as its `RawValue`, are not supported.
    ///
    /// # Errors
    /// Returns an error if the message is malformed, exceeds a limit, or does not fit the type.
    pub fn decode<'de, T: Deserialize<'de>>(&self, message: &'de [u8], mask: &FieldMask) -> Result<T, Error> {
        deserialize::object(self.api_version(), self.kind(), self.id, message, mask)
    }
}
