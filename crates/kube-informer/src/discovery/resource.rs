//! A resource as the server tells of it.

use std::fmt;

use kube::api::ApiResource;

/// A resource that a server serves, by all its names.
///
/// Found by [`SharedInformerFactory::discover`](crate::SharedInformerFactory::discover), and by [`Discovery`](crate::discovery::Discovery)
/// in everything that a server serves.
#[doc(alias("APIResource", "RESTMapping"))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredResource {
    pub(super) names: ApiResource,
    pub(super) singular: String,
    pub(super) short_names: Vec<String>,
    pub(super) verbs: Vec<String>,
    pub(super) namespaced: bool,
}

impl DiscoveredResource {
    /// Group, version, kind and plural: what an informer of `DynamicObject` is made with.
    #[must_use]
    pub fn api_resource(&self) -> &ApiResource {
        &self.names
    }

    /// Whether its objects are in namespaces; otherwise they are the cluster's.
    #[must_use]
    pub fn is_namespaced(&self) -> bool {
        self.namespaced
    }

    /// What can be done with it, as in `get`, `list`, `watch`.
    #[must_use]
    pub fn verbs(&self) -> &[String] {
        &self.verbs
    }

    /// Whether something can be done with it.
    #[must_use]
    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|allowed| allowed == verb)
    }

    /// Whether it can be listed and watched, which is what an informer does.
    #[must_use]
    pub fn is_watchable(&self) -> bool {
        self.allows("list") && self.allows("watch")
    }

    /// The name of one object of it, as in `deployment`; empty where the server does not tell.
    #[must_use]
    pub fn singular(&self) -> &str {
        &self.singular
    }

    /// The names for the impatient, as in `deploy`.
    #[must_use]
    pub fn short_names(&self) -> &[String] {
        &self.short_names
    }
}

/// `deployments.apps`, or `pods` in the core group.
impl fmt::Display for DiscoveredResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.plural)?;
        match self.names.group.as_str() {
            "" => Ok(()),
            group => write!(f, ".{group}"),
        }
    }
}
