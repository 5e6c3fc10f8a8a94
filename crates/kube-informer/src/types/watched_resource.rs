//! The names of a watched kind.

use std::fmt;
use std::sync::Arc;

/// The names of a kind and the watched namespaces, for messages and requests.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube_informer::WatchedResource;
///
/// let name = WatchedResource::of::<Deployment>(&(), ["shop"]);
/// assert_eq!((name.group_resource().as_str(), name.namespace()), ("deployments.apps", Some("shop")));
/// ```
#[doc(alias = "GroupVersionResource")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WatchedResource {
    names: Arc<ResourceNames>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ResourceNames {
    group: String,
    version: String,
    kind: String,
    plural: String,
    /// Empty for all namespaces.
    namespaces: Vec<String>,
}

impl WatchedResource {
    /// Returns the names of a kind that is watched in these namespaces, or in all namespaces if there are none.
    pub fn of<'a, K: kube::Resource>(
        kind: &K::DynamicType,
        namespaces: impl IntoIterator<Item = &'a str>,
    ) -> WatchedResource {
        WatchedResource {
            names: Arc::new(ResourceNames {
                group: K::group(kind).into_owned(),
                version: K::version(kind).into_owned(),
                kind: K::kind(kind).into_owned(),
                plural: K::plural(kind).into_owned(),
                namespaces: namespaces.into_iter().map(str::to_owned).collect(),
            }),
        }
    }

    /// Returns the API group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.names.group
    }

    /// Returns the version of the API group.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.names.version
    }

    /// Returns the kind, for example `Deployment`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.names.kind
    }

    /// Returns the plural name, for example `deployments`.
    #[must_use]
    pub fn plural(&self) -> &str {
        &self.names.plural
    }

    /// Returns the watched namespace, if there is exactly one. `None` for several or all namespaces and for
    /// cluster-scoped kinds.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        match self.namespaces() {
            [namespace] => Some(namespace),
            _ => None,
        }
    }

    /// Returns the watched namespaces; empty for all namespaces and for cluster-scoped kinds.
    #[must_use]
    pub fn namespaces(&self) -> &[String] {
        &self.names.namespaces
    }

    /// Returns the `apiVersion` of objects: `apps/v1`, or `v1` in the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        match self.group() {
            "" => self.version().to_owned(),
            group => format!("{group}/{}", self.version()),
        }
    }

    /// Returns the name as `kubectl` prints it: `deployments.apps`, or `pods` in the core group.
    #[must_use]
    pub fn group_resource(&self) -> String {
        match self.group() {
            "" => self.plural().to_owned(),
            group => format!("{}.{group}", self.plural()),
        }
    }

    /// Returns whether a `CustomResourceDefinition` may define the kind: its group is a domain that does not belong to
    /// Kubernetes.
    pub(crate) fn may_be_custom(&self) -> bool {
        self.group().contains('.') && !self.group().ends_with(".k8s.io")
    }
}

/// `deployments.apps`, and the namespaces unless all are watched.
impl fmt::Display for WatchedResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.group_resource())?;
        match self.namespaces() {
            [] => Ok(()),
            [namespace] => write!(f, " in namespace {namespace}"),
            [first, second, third, more @ ..] if !more.is_empty() => {
                write!(
                    f,
                    " in namespaces {first}, {second}, {third} and {} more",
                    more.len()
                )
            }
            few => write!(f, " in namespaces {}", few.join(", ")),
        }
    }
}
