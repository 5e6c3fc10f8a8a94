use std::borrow::Cow;

/// The fields that identify an object.
///
/// [`json::identity`](crate::json::identity()) and [`Schema::identity`](crate::protobuf::Schema::identity) read it
/// without decoding the rest of the object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity<'a> {
    /// `metadata.name`, or an empty string.
    pub name: Cow<'a, str>,
    /// `metadata.namespace`, or an empty string.
    pub namespace: Cow<'a, str>,
    /// `metadata.resourceVersion`, or an empty string.
    pub resource_version: Cow<'a, str>,
    /// `metadata.uid`, or an empty string.
    pub uid: Cow<'a, str>,
}
