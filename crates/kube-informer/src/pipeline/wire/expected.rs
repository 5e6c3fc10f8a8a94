//! What objects have to be called.

use crate::error::Error;
use crate::object::Kind;

/// The `kind` a source of objects must have, and the forms that are told apart from it.
#[derive(Debug, Clone)]
pub(super) struct ExpectedKind {
    pub(super) api_version: String,
    pub(super) kind: String,
}

impl ExpectedKind {
    /// What objects of `K` are called on the wire.
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

    /// What objects are called of which nothing but the metadata is sent.
    pub(super) fn metadata() -> ExpectedKind {
        ExpectedKind {
            api_version: "meta.k8s.io/v1".to_owned(),
            kind: "PartialObjectMetadata".to_owned(),
        }
    }

    /// Whether a list of this type can be a list of the kind under a name of its own: the author of a custom resource may
    /// choose one. Its items then have to say what they are.
    pub(super) fn may_be_called(&self, api_version: Option<&str>, kind: Option<&str>) -> bool {
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        group.contains('.')
            && group != "meta.k8s.io"
            && api_version == Some(&self.api_version)
            && kind.is_some_and(|kind| kind != "Table" && kind != "Status" && kind != self.kind)
    }

    /// Items of a list and old servers leave the type out; a wrong one is never accepted.
    pub(super) fn check(
        &self,
        api_version: Option<&str>,
        kind: Option<&str>,
        list: bool,
    ) -> Result<(), Error> {
        if kind == Some("Table") {
            return Err(Error::bad_data(
                "a Table, the form for people, instead of objects",
            ));
        }
        let fits = |kind: &str| match kind.strip_suffix("List") {
            Some(of) if list => of == self.kind,
            _ => !list && kind == self.kind,
        };
        if kind.is_none_or(fits) && api_version.is_none_or(|version| version == self.api_version) {
            return Ok(());
        }
        Err(Error::bad_data(format!(
            "{} {} instead of {} {}{}",
            api_version.unwrap_or("(no apiVersion)"),
            kind.unwrap_or("(no kind)"),
            self.api_version,
            self.kind,
            if list { "List" } else { "" },
        )))
    }
}
