//! How far each part of a store has come.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::object::{Key, ResourceVersion};
use crate::pipeline::reflector::Scope;

/// The scopes of a store, each at its own version: everything, or several namespaces.
#[derive(Debug, Clone)]
pub(crate) struct Scopes {
    scopes: Vec<ScopeProgress>,
}

/// How far one scope has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScopeProgress {
    /// None for all of them.
    namespace: Option<Arc<str>>,
    /// None before its first list.
    version: Option<ResourceVersion>,
    /// The kind is not served any more. The objects were removed at an unknown version after `version`.
    kind_removed: bool,
}

impl Scopes {
    /// One scope that is everything the store has.
    pub(crate) fn one() -> Scopes {
        Scopes::new(vec![None])
    }

    /// A scope for each namespace.
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

    /// The namespace that a scope is limited to.
    pub(super) fn namespace(&self, scope: Scope) -> Option<&Arc<str>> {
        self.scopes.get(scope.0)?.namespace.as_ref()
    }

    /// The scope that an object belongs to.
    pub(super) fn of(&self, key: &Key) -> Scope {
        let namespace = key.namespace();
        let is_its = |reached: &ScopeProgress| {
            reached
                .namespace
                .as_deref()
                .is_none_or(|its| Some(its) == namespace)
        };
        self.scopes.iter().position(is_its).map_or(Scope::ONLY, Scope)
    }

    /// Moves a scope to a version.
    pub(super) fn reach(&mut self, scope: Scope, version: ResourceVersion) {
        if let Some(reached) = self.scopes.get_mut(scope.0) {
            reached.version = Some(version);
            reached.kind_removed = false;
        }
    }

    /// Notes that the kind of a scope is not served any more. The next list ends that.
    pub(super) fn remove_kind(&mut self, scope: Scope) {
        if let Some(reached) = self.scopes.get_mut(scope.0) {
            reached.kind_removed = true;
        }
    }

    /// Whether every scope has been listed.
    pub(crate) fn are_listed(&self) -> bool {
        self.scopes.iter().all(|reached| reached.version.is_some())
    }

    /// How far all scopes have come.
    pub(super) fn versions(&self) -> ScopeVersions {
        match &self.scopes[..] {
            [only] => ScopeVersions::One(only.clone()),
            several => ScopeVersions::Several(several.into()),
        }
    }
}

/// The versions of a store's scopes at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScopeVersions {
    One(ScopeProgress),
    Several(Arc<[ScopeProgress]>),
}

impl ScopeVersions {
    /// The versions of a store with one scope before its first list.
    pub(crate) fn none() -> ScopeVersions {
        Scopes::one().versions()
    }

    /// The version that a scope has reached; none before its first list.
    pub(crate) fn of(&self, scope: Scope) -> Option<&ResourceVersion> {
        match self {
            ScopeVersions::One(only) => only.version.as_ref(),
            ScopeVersions::Several(several) => several.get(scope.0)?.version.as_ref(),
        }
    }

    /// The version that everything has reached; none before every scope was listed.
    ///
    /// Where versions cannot be compared it is all of them in one, which compares with nothing.
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

    /// The version that a namespace has reached, as readers see it; none before every scope was listed, because they see
    /// nothing until then.
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

    /// Whether the kind was removed in a namespace, or in any of them if the namespace has no scope of its own.
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

    /// The namespaces that were not listed yet.
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
