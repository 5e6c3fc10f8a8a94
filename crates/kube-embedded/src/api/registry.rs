//! All served resources: built-in and custom.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::kinds;
use super::resource::Resource;

/// All served resources.
#[derive(Debug, Clone, Default)]
pub(crate) struct Registry {
    groups: Vec<Group>,
}

/// An API group and its versions, the preferred one first.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) versions: Vec<Version>,
}

/// A version of a group and its resources in the order of discovery.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) resources: Vec<Arc<Resource>>,
    /// The OpenAPI document, built on first use.
    pub(super) document: OnceLock<Bytes>,
}

impl Registry {
    /// Returns the built-in resources.
    pub(crate) fn builtin() -> &'static Registry {
        static BUILTIN: OnceLock<Registry> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            let mut registry = Registry::default();
            for resource in kinds::builtin() {
                registry.add(resource);
            }
            registry
        })
    }

    /// Returns the built-in resources and these.
    pub(crate) fn with(custom: impl IntoIterator<Item = Resource>) -> Registry {
        let mut registry = Registry::builtin().clone();
        for resource in custom {
            registry.add(resource);
        }
        registry
    }

    fn add(&mut self, resource: Resource) {
        let at = self
            .groups
            .iter()
            .position(|g| g.name == resource.group)
            .unwrap_or_else(|| {
                self.groups.push(Group {
                    name: resource.group.clone(),
                    versions: Vec::new(),
                });
                self.groups.len() - 1
            });
        let versions = &mut self.groups[at].versions;
        let at = versions
            .iter()
            .position(|v| v.name == resource.version)
            .unwrap_or_else(|| {
                versions.push(Version {
                    name: resource.version.clone(),
                    resources: Vec::new(),
                    document: OnceLock::new(),
                });
                versions.len() - 1
            });
        versions[at].resources.push(Arc::new(resource));
        versions[at].document = OnceLock::new();
    }

    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    pub(crate) fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|g| g.name == name)
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.resources(group, version).iter().find(|r| r.plural == plural)
    }

    /// Returns the resource of a kind in a version.
    pub(crate) fn find_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.resources(group, version).iter().find(|r| r.kind == kind)
    }

    /// Returns the resources of a version in the order of discovery; empty if it is not served.
    pub(crate) fn resources(&self, group: &str, version: &str) -> &[Arc<Resource>] {
        let versions = self.group(group).map_or(&[][..], |g| &g.versions);
        versions
            .iter()
            .find(|v| v.name == version)
            .map_or(&[], |v| &v.resources)
    }

    /// Returns all resources in all versions.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.groups
            .iter()
            .flat_map(|g| &g.versions)
            .flat_map(|v| &v.resources)
    }

    /// Returns the resource of a collection in its stored version.
    pub(crate) fn of_collection(&self, collection: &str) -> Option<&Arc<Resource>> {
        self.all()
            .find(|r| *r.collection == *collection && r.is_stored_version())
    }
}
