//! A resource in a discovery document.

use std::fmt;

use kube::api::ApiResource;

/// A resource that an API server serves, with all its names.
///
/// [`SharedInformerFactory::discover`](crate::SharedInformerFactory::discover) returns one;
/// [`Discovery`](crate::discovery::Discovery) contains all.
#[doc(alias("APIResource", "RESTMapping"))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredResource {
    pub(crate) names: ApiResource,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) verbs: Vec<String>,
    pub(crate) namespaced: bool,
}

impl DiscoveredResource {
    /// Returns group, version, kind and plural name, as an informer of `DynamicObject` needs them.
    #[must_use]
    pub fn api_resource(&self) -> &ApiResource {
        &self.names
    }

    /// Returns whether its objects belong to namespaces. Otherwise they are cluster-scoped.
    #[must_use]
    pub fn is_namespaced(&self) -> bool {
        self.namespaced
    }

    /// Returns the supported verbs, for example `get`, `list` and `watch`.
    #[must_use]
    pub fn verbs(&self) -> &[String] {
        &self.verbs
    }

    /// Returns whether it supports a verb.
    #[must_use]
    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|allowed| allowed == verb)
    }

    /// Returns whether it can be listed and watched, as an informer does.
    #[must_use]
    pub fn is_watchable(&self) -> bool {
        self.allows("list") && self.allows("watch")
    }

    /// Returns the singular name, for example `deployment`; empty if the server has none.
    #[must_use]
    pub fn singular(&self) -> &str {
        &self.singular
    }

    /// Returns the short names, for example `deploy`.
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
