//! Checks whether an API server serves a kind.

use super::{GroupVersion, PLAIN, ResourceDocument, Root, RootDocument, document};
use crate::error::Error;
use crate::object::{Kind, WatchedResource};
use crate::pipeline::wire::http::ApiListWatch;

/// The names of a resource in discovery documents.
#[derive(Debug, Clone)]
pub(in crate::pipeline::wire) struct ServedResource {
    group_version: GroupVersion,
    plural: String,
}

impl ServedResource {
    pub(in crate::pipeline::wire) fn of<K: Kind>(kind: &K::DynamicType) -> ServedResource {
        let names = WatchedResource::of::<K>(kind, None);
        ServedResource {
            group_version: GroupVersion {
                group: names.group().to_owned(),
                version: names.version().to_owned(),
            },
            plural: names.plural().to_owned(),
        }
    }
}

impl<K: Kind> ApiListWatch<K> {
    /// Returns whether discovery lists the resource.
    ///
    /// If not, the reflector empties the cache, so anything but a valid document without the resource is an
    /// error. A 404 is not enough: a misconfigured proxy may return it for every path.
    pub(in crate::pipeline::wire) async fn is_listed_by_discovery(&self) -> Result<bool, Error> {
        let ServedResource {
            group_version,
            plural,
        } = &*self.served_resource;
        let path = group_version.path();
        let missing = match document::<ResourceDocument>(&self.client, &path, PLAIN).await {
            Ok(document) => {
                return document
                    .contains(group_version, plural)
                    .ok_or_else(|| unexpected_document(&path));
            }
            // The core group has one version, which every server serves.
            Err(error) if error.is_not_found() && !group_version.is_core() => error,
            Err(error) => return Err(error),
        };
        let path = Root::Named.path();
        // Every server has groups.
        let groups = match document(&self.client, path, PLAIN).await? {
            RootDocument::Named { groups } if !groups.is_empty() => groups,
            _ => return Err(unexpected_document(path)),
        };
        if groups.iter().any(|group| group.has_version(group_version)) {
            // The two documents contradict each other: the definition was created or deleted in between.
            return Err(missing);
        }
        Ok(false)
    }
}

fn unexpected_document(path: &str) -> Error {
    Error::bad_data(format!("unexpected kind of discovery document at {path}"))
}
