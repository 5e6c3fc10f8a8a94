use std::borrow::Cow;

/// What makes an object known: read without reading the rest of it.
///
/// Read from JSON by [`json::identity`](crate::json::identity()), from protobuf by [`Schema::identity`](crate::protobuf::Schema::identity).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity<'a> {
    /// `metadata.name`; empty if there is none.
    pub name: Cow<'a, str>,
    /// `metadata.namespace`; empty if there is none.
    pub namespace: Cow<'a, str>,
    /// `metadata.resourceVersion`; empty if there is none.
    pub resource_version: Cow<'a, str>,
    /// `metadata.uid`; empty if there is none.
    pub uid: Cow<'a, str>,
}
