//! The expected kind of received objects.

use crate::error::Error;
use crate::object::Kind;

/// The `kind` and `apiVersion` that received objects must have.
#[derive(Debug, Clone)]
pub(super) struct ExpectedKind {
    pub(super) api_version: String,
    pub(super) kind: String,
}

impl ExpectedKind {
    /// Returns the kind of objects of type `K` in responses.
    pub(super) fn of<K: Kind>(kind: &K::DynamicType) -> ExpectedKind {
        if K::metadata_api() {
            ExpectedKind::metadata()
        } else {
            ExpectedKind {
                api_version: K::api_version(kind).into_owned(),
                kind: K::kind(kind).into_owned(),
            }
        }
    }

    /// Returns the kind of objects that consist of metadata only.
    pub(super) fn metadata() -> ExpectedKind {
        ExpectedKind {
            api_version: "meta.k8s.io/v1".to_owned(),
            kind: "PartialObjectMetadata".to_owned(),
        }
    }

    /// Returns whether this may be the type of a list of the kind, because the author of a custom resource
    /// may choose the name of the list. The items of such a list must have a type.
    pub(super) fn allows_list_kind(&self, api_version: Option<&str>, kind: Option<&str>) -> bool {
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        group.contains('.')
            && group != "meta.k8s.io"
            && api_version == Some(&self.api_version)
            && kind.is_some_and(|kind| kind != "Table" && kind != "Status" && kind != self.kind)
    }

    /// Checks the type of an object or list. Items of lists and old servers omit the type; a different type
    /// is rejected.
    pub(super) fn check(
        &self,
        api_version: Option<&str>,
        kind: Option<&str>,
        list: bool,
    ) -> Result<(), Error> {
        if kind == Some("Table") {
            return Err(Error::bad_data("unexpected meta.k8s.io Table: expected objects"));
        }
        let matches = |kind: &str| match kind.strip_suffix("List") {
            Some(item_kind) if list => item_kind == self.kind,
            _ => !list && kind == self.kind,
        };
        if kind.is_none_or(matches) && api_version.is_none_or(|version| version == self.api_version) {
            return Ok(());
        }
        Err(Error::bad_data(format!(
            "unexpected {} {}: expected {} {}{}",
            api_version.unwrap_or("(no apiVersion)"),
            kind.unwrap_or("(no kind)"),
            self.api_version,
            self.kind,
            if list { "List" } else { "" },
        )))
    }
}
