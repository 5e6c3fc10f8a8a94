//! The documents by which a server tells what it serves: aggregated, and one by one.

use std::fmt;

use kube::api::{ApiResource, GroupVersionKind};
use serde::{Deserialize, Deserializer};

use super::resource::DiscoveredResource;

/// A version of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupVersion {
    pub(super) group: String,
    pub(super) version: String,
}

/// Where the groups are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    /// `/api`: the core group.
    Core,
    /// `/apis`: all others.
    Named,
}

/// What a server tells of one version of a group.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Its resources.
    Resources(Vec<DiscoveredResource>),
    /// That it exists; its resources have a document of their own.
    Elsewhere(GroupVersion),
    /// What was served when its API server was last heard of.
    Stale(GroupVersion),
}

/// Any document that comes from `/api` and `/apis`.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind")]
pub(super) enum RootDocument {
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
pub(super) struct AggregatedGroup {
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
    /// Missing where only subresources are served.
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
pub(super) struct PlainGroup {
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
pub(super) struct ResourceDocument {
    #[serde(default, deserialize_with = "or_empty")]
    resources: Vec<PlainResource>,
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
    /// The versions of all groups, in the order of preference.
    pub(super) fn group_versions(self) -> Vec<Told> {
        match self {
            RootDocument::Aggregated { items } => items
                .into_iter()
                .flat_map(AggregatedGroup::group_versions)
                .collect(),
            RootDocument::Core { versions } => versions
                .into_iter()
                .map(|version| {
                    Told::Elsewhere(GroupVersion {
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
    /// The first version of an aggregated group is the preferred one.
    fn group_versions(self) -> impl Iterator<Item = Told> {
        let group = self.metadata.name;
        self.versions.into_iter().map(move |version| {
            let place = GroupVersion {
                group: group.clone(),
                version: version.version,
            };
            if version.freshness == "Stale" {
                return Told::Stale(place);
            }
            let resources = version.resources.into_iter();
            Told::Resources(resources.filter_map(|resource| resource.at(&place)).collect())
        })
    }
}

impl AggregatedResource {
    fn at(self, place: &GroupVersion) -> Option<DiscoveredResource> {
        Some(DiscoveredResource {
            names: place.names(&self.response_kind?.kind, &self.resource)?,
            singular: self.singular_resource,
            short_names: self.short_names,
            verbs: self.verbs,
            namespaced: self.scope == "Namespaced",
        })
    }
}

impl PlainGroup {
    fn group_versions(self) -> impl Iterator<Item = Told> {
        let preferred = self.preferred_version.map(|version| version.version);
        let mut versions: Vec<String> = self.versions.into_iter().map(|version| version.version).collect();
        // The sort is stable: the others stay as the server has them.
        versions.sort_by_key(|version| Some(version) != preferred.as_ref());
        let group = self.name;
        versions.into_iter().map(move |version| {
            Told::Elsewhere(GroupVersion {
                group: group.clone(),
                version,
            })
        })
    }
}

impl ResourceDocument {
    pub(super) fn resources(self, place: &GroupVersion) -> Vec<DiscoveredResource> {
        let resources = self.resources.into_iter();
        resources
            .filter(|resource| !resource.name.contains('/'))
            .filter_map(|resource| {
                Some(DiscoveredResource {
                    names: place.names(&resource.kind, &resource.name)?,
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
    /// Where its document is.
    pub(super) fn path(&self) -> String {
        match self.group.as_str() {
            "" => format!("/api/{self}"),
            _ => format!("/apis/{self}"),
        }
    }

    /// What lacks a name or kind is nothing to ask for, and no reason to refuse the rest.
    fn names(&self, kind: &str, plural: &str) -> Option<ApiResource> {
        if kind.is_empty() || plural.is_empty() {
            return None;
        }
        let kind = GroupVersionKind::gvk(&self.group, &self.version, kind);
        Some(ApiResource::from_gvk_with_plural(&kind, plural))
    }
}

impl Root {
    pub(super) fn path(self) -> &'static str {
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

/// Go writes a list that nobody filled as `null`.
fn or_empty<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::<Vec<T>>::deserialize(deserializer)?.unwrap_or_default())
}
