//! Discovery documents: aggregated, and separate ones for each group and version.

use std::fmt;

use kube::api::{ApiResource, GroupVersionKind};
use serde::{Deserialize, Deserializer};

use super::resource::DiscoveredResource;

/// A version of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupVersion {
    pub(super) group: String,
    pub(super) version: String,
}

/// The path of a document that lists groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Root {
    /// `/api`: the core group.
    Core,
    /// `/apis`: all other groups.
    Named,
}

/// One version of a group in a list of groups.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DiscoveredVersion {
    /// The list contains its resources.
    Included(Vec<DiscoveredResource>),
    /// Its resources are in a separate document.
    Separate(GroupVersion),
    /// The included resources are outdated, because the server cannot reach the API server behind them.
    Stale(GroupVersion),
}

/// A list of groups, from `/api` or `/apis`.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind")]
pub(crate) enum RootDocument {
    #[serde(rename = "APIGroupDiscoveryList")]
    Aggregated {
        #[serde(default, deserialize_with = "or_empty")]
        items: Vec<AggregatedGroup>,
    },
    #[serde(rename = "APIVersions")]
    Core {
        #[serde(default, deserialize_with = "or_empty")]
        versions: Vec<String>,
    },
    #[serde(rename = "APIGroupList")]
    Named {
        #[serde(default, deserialize_with = "or_empty")]
        groups: Vec<PlainGroup>,
    },
}

#[derive(Debug, Deserialize)]
pub(crate) struct AggregatedGroup {
    #[serde(default)]
    metadata: AggregatedName,
    #[serde(default, deserialize_with = "or_empty")]
    versions: Vec<AggregatedVersion>,
}

#[derive(Debug, Default, Deserialize)]
struct AggregatedName {
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
struct AggregatedVersion {
    #[serde(default)]
    version: String,
    #[serde(default, deserialize_with = "or_empty")]
    resources: Vec<AggregatedResource>,
    #[serde(default)]
    freshness: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AggregatedResource {
    #[serde(default)]
    resource: String,
    /// `None` if only subresources are served.
    response_kind: Option<AggregatedKind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    singular_resource: String,
    #[serde(default, deserialize_with = "or_empty")]
    verbs: Vec<String>,
    #[serde(default, deserialize_with = "or_empty")]
    short_names: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct AggregatedKind {
    #[serde(default)]
    kind: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlainGroup {
    name: String,
    #[serde(default, deserialize_with = "or_empty")]
    versions: Vec<PlainVersion>,
    preferred_version: Option<PlainVersion>,
}

#[derive(Debug, Deserialize)]
struct PlainVersion {
    version: String,
}

/// The document of one version of a group.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResourceDocument {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    group_version: String,
    resources: Option<Vec<PlainResource>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlainResource {
    #[serde(default)]
    name: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    singular_name: String,
    #[serde(default)]
    namespaced: bool,
    #[serde(default, deserialize_with = "or_empty")]
    verbs: Vec<String>,
    #[serde(default, deserialize_with = "or_empty")]
    short_names: Vec<String>,
}

impl RootDocument {
    /// Returns the versions of all groups, in the order of preference.
    pub(crate) fn group_versions(self) -> Vec<DiscoveredVersion> {
        match self {
            RootDocument::Aggregated { items } => items
                .into_iter()
                .flat_map(AggregatedGroup::group_versions)
                .collect(),
            RootDocument::Core { versions } => versions
                .into_iter()
                .map(|version| {
                    DiscoveredVersion::Separate(GroupVersion {
                        group: String::new(),
                        version,
                    })
                })
                .collect(),
            RootDocument::Named { groups } => {
                groups.into_iter().flat_map(PlainGroup::group_versions).collect()
            }
        }
    }
}

impl AggregatedGroup {
    // The first version of an aggregated group is the preferred one.
    fn group_versions(self) -> impl Iterator<Item = DiscoveredVersion> {
        let group = self.metadata.name;
        self.versions.into_iter().map(move |version| {
            let group_version = GroupVersion {
                group: group.clone(),
                version: version.version,
            };
            if version.freshness == "Stale" {
                return DiscoveredVersion::Stale(group_version);
            }
            let resources = version.resources.into_iter();
            DiscoveredVersion::Included(
                resources
                    .filter_map(|resource| resource.in_version(&group_version))
                    .collect(),
            )
        })
    }
}

impl AggregatedResource {
    fn in_version(self, group_version: &GroupVersion) -> Option<DiscoveredResource> {
        Some(DiscoveredResource {
            names: group_version.names(&self.response_kind?.kind, &self.resource)?,
            singular: self.singular_resource,
            short_names: self.short_names,
            verbs: self.verbs,
            namespaced: self.scope == "Namespaced",
        })
    }
}

impl PlainGroup {
    pub(super) fn has_version(&self, wanted: &GroupVersion) -> bool {
        let mut versions = self.versions.iter();
        self.name == wanted.group && versions.any(|version| version.version == wanted.version)
    }

    fn group_versions(self) -> impl Iterator<Item = DiscoveredVersion> {
        let preferred = self.preferred_version.map(|version| version.version);
        let mut versions: Vec<String> = self.versions.into_iter().map(|version| version.version).collect();
        // The sort is stable, so the other versions keep the server's order.
        versions.sort_by_key(|version| Some(version) != preferred.as_ref());
        let group = self.name;
        versions.into_iter().map(move |version| {
            DiscoveredVersion::Separate(GroupVersion {
                group: group.clone(),
                version,
            })
        })
    }
}

impl ResourceDocument {
    /// Returns whether the document contains a resource, or `None` if it is not the document of that group
    /// and version.
    pub(super) fn contains(&self, group_version: &GroupVersion, plural: &str) -> Option<bool> {
        if self.kind != "APIResourceList" || self.group_version != group_version.to_string() {
            return None;
        }
        let mut resources = self.resources.as_ref()?.iter();
        Some(resources.any(|resource| resource.name == plural))
    }

    pub(crate) fn resources(self, group_version: &GroupVersion) -> Vec<DiscoveredResource> {
        let resources = self.resources.unwrap_or_default().into_iter();
        resources
            .filter(|resource| !resource.name.contains('/'))
            .filter_map(|resource| {
                Some(DiscoveredResource {
                    names: group_version.names(&resource.kind, &resource.name)?,
                    singular: resource.singular_name,
                    short_names: resource.short_names,
                    verbs: resource.verbs,
                    namespaced: resource.namespaced,
                })
            })
            .collect()
    }
}

impl GroupVersion {
    pub(super) fn is_core(&self) -> bool {
        self.group.is_empty()
    }

    /// Returns the path of its document.
    pub(crate) fn path(&self) -> String {
        match self.group.as_str() {
            "" => format!("/api/{self}"),
            _ => format!("/apis/{self}"),
        }
    }

    /// Returns `None` for a resource without a name or kind; other resources in the document stay usable.
    fn names(&self, kind: &str, plural: &str) -> Option<ApiResource> {
        if kind.is_empty() || plural.is_empty() {
            return None;
        }
        let kind = GroupVersionKind::gvk(&self.group, &self.version, kind);
        Some(ApiResource::from_gvk_with_plural(&kind, plural))
    }
}

impl Root {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Root::Core => "/api",
            Root::Named => "/apis",
        }
    }
}

/// `apps/v1`, or `v1` in the core group.
impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group.as_str() {
            "" => f.write_str(&self.version),
            group => write!(f, "{group}/{}", self.version),
        }
    }
}

/// Go encodes an empty list as `null`.
fn or_empty<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::<Vec<T>>::deserialize(deserializer)?.unwrap_or_default())
}
