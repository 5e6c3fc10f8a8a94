//! The version of each scope of a store.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::object::{Key, ResourceVersion};
use crate::pipeline::reflector::Scope;

/// The scopes of a store, each at its own version: a single one, or several namespaces.
#[derive(Debug, Clone)]
pub(crate) struct Scopes {
    scopes: Vec<ScopeProgress>,
}

/// The version of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScopeProgress {
    /// `None` for all namespaces.
    namespace: Option<Arc<str>>,
    /// `None` before the first list.
    version: Option<ResourceVersion>,
    /// The kind is no longer served. Its objects were removed at an unknown version after `version`.
    kind_removed: bool,
}

impl Scopes {
    /// Creates a single scope for the whole store.
    pub(crate) fn one() -> Scopes {
        Scopes::new(vec![None])
    }

    /// Creates a scope for each namespace.
    pub(crate) fn of_namespaces<'a>(namespaces: impl IntoIterator<Item = &'a str>) -> Scopes {
        Scopes::new(namespaces.into_iter().map(|name| Some(name.into())).collect())
    }

    fn new(namespaces: Vec<Option<Arc<str>>>) -> Scopes {
        let reached = |namespace| ScopeProgress {
            namespace,
            version: None,
            kind_removed: false,
        };
        Scopes {
            scopes: namespaces.into_iter().map(reached).collect(),
        }
    }

    /// Returns the namespace of a scope, if it is limited to one.
    pub(super) fn namespace(&self, scope: Scope) -> Option<&Arc<str>> {
        self.scopes.get(scope.0)?.namespace.as_ref()
    }

    /// Returns the scope of an object.
    pub(super) fn of(&self, key: &Key) -> Scope {
        let namespace = key.namespace();
        let contains = |scope: &ScopeProgress| {
            scope
                .namespace
                .as_deref()
                .is_none_or(|expected| Some(expected) == namespace)
        };
        self.scopes.iter().position(contains).map_or(Scope::ONLY, Scope)
    }

    /// Sets the version of a scope.
    pub(super) fn set_version(&mut self, scope: Scope, version: ResourceVersion) {
        if let Some(progress) = self.scopes.get_mut(scope.0) {
            progress.version = Some(version);
            progress.kind_removed = false;
        }
    }

    /// Records that the kind of a scope is no longer served, until the next list.
    pub(super) fn remove_kind(&mut self, scope: Scope) {
        if let Some(progress) = self.scopes.get_mut(scope.0) {
            progress.kind_removed = true;
        }
    }

    /// Returns whether every scope was listed.
    pub(crate) fn all_listed(&self) -> bool {
        self.scopes.iter().all(|reached| reached.version.is_some())
    }

    /// Returns the versions of all scopes.
    pub(super) fn versions(&self) -> ScopeVersions {
        match &self.scopes[..] {
            [only] => ScopeVersions::One(only.clone()),
            several => ScopeVersions::Several(several.into()),
        }
    }
}

/// The versions of all scopes of a store at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScopeVersions {
    One(ScopeProgress),
    Several(Arc<[ScopeProgress]>),
}

impl ScopeVersions {
    /// Returns the versions of a store with one scope before its first list.
    pub(crate) fn none() -> ScopeVersions {
        Scopes::one().versions()
    }

    /// Returns the version of a scope, or `None` before its first list.
    pub(crate) fn of(&self, scope: Scope) -> Option<&ResourceVersion> {
        match self {
            ScopeVersions::One(only) => only.version.as_ref(),
            ScopeVersions::Several(several) => several.get(scope.0)?.version.as_ref(),
        }
    }

    /// Returns the version that every scope has reached, or `None` until every scope was listed.
    ///
    /// Versions that cannot be compared are joined into one text, which is not comparable with any version.
    pub(crate) fn least(&self) -> Option<ResourceVersion> {
        let several = match self {
            ScopeVersions::One(only) => return only.version.clone(),
            ScopeVersions::Several(several) => several,
        };
        let versions: Option<Vec<&ResourceVersion>> =
            several.iter().map(|reached| reached.version.as_ref()).collect();
        let versions = versions?;
        let mut least = *versions.first()?;
        for version in &versions {
            match version.compare(least) {
                Some(Ordering::Less) => least = version,
                Some(_) => {}
                None => {
                    let all: Vec<String> = versions.iter().map(ToString::to_string).collect();
                    return Some(ResourceVersion::from(all.join(",")));
                }
            }
        }
        Some(least.clone())
    }

    /// Returns the version of a namespace for readers, or `None` until every scope was listed.
    pub(crate) fn in_namespace(&self, namespace: Option<&str>) -> Option<ResourceVersion> {
        let several = match self {
            ScopeVersions::One(only) => return only.version.clone(),
            ScopeVersions::Several(several) => several,
        };
        if several.iter().any(|reached| reached.version.is_none()) {
            return None;
        }
        several
            .iter()
            .find(|reached| reached.namespace.as_deref() == namespace)
            .map_or_else(|| self.least(), |reached| reached.version.clone())
    }

    /// Returns whether the kind was removed in a namespace, or in any namespace if this one has no scope of
    /// its own.
    pub(crate) fn is_kind_removed_in(&self, namespace: Option<&str>) -> bool {
        let scopes = match self {
            ScopeVersions::One(only) => std::slice::from_ref(only),
            ScopeVersions::Several(several) => several,
        };
        let own = scopes
            .iter()
            .find(|reached| reached.namespace.as_deref() == namespace);
        own.map_or_else(
            || scopes.iter().any(|reached| reached.kind_removed),
            |reached| reached.kind_removed,
        )
    }

    /// Returns the namespaces that were not listed yet.
    pub(crate) fn unlisted(&self) -> Vec<&str> {
        match self {
            ScopeVersions::One(_) => Vec::new(),
            ScopeVersions::Several(several) => several
                .iter()
                .filter(|reached| reached.version.is_none())
                .filter_map(|reached| reached.namespace.as_deref())
                .collect(),
        }
    }
}
