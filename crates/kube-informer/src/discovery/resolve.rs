//! Which resource a name means.

use super::near::near_misses;
use super::{DiscoveredResource, Discovery};
use crate::error::{DiscoveryProblem, Error, Problem};

/// Where a name is looked for.
#[derive(Debug, Clone, Copy)]
enum Place<'a> {
    Anywhere,
    Version { version: &'a str, group: &'a str },
    Group(&'a str),
    GroupThatBegins(&'a str),
}

/// What a name is compared with.
#[derive(Debug, Clone, Copy)]
enum Names {
    PluralAndSingular,
    Short,
    Kind,
}

impl Discovery {
    /// The resource that a name means, as `kubectl` understands it: plural, singular, short name or kind, in any case,
    /// alone or with a group (`deploy.apps`) or a version and a group (`deployments.v1.apps`, in the core group
    /// `pods.v1.`). The beginning of a group is enough (`ingresses.networking`).
    ///
    /// Several resources may have one name. The first one is meant, in this order: plural and singular names go before
    /// short names, and those before kinds; then the groups as the server has them, the core group first (`events` is
    /// the core group's, not that of `events.k8s.io`); then the version that the group prefers. Name the group where
    /// that matters.
    ///
    /// # Errors
    /// If the server serves nothing of that name ([`Error::is_unknown_resource`]; the error tells what is spelt almost
    /// like it), or if it cannot be both listed and watched ([`Error::is_not_watchable`]).
    pub fn resolve(&self, name: &str) -> Result<&DiscoveredResource, Error> {
        let asked = name.trim().to_lowercase();
        let (word, places) = places(&asked);
        match places.into_iter().find_map(|place| self.first(word, place)) {
            Some(resource) => watchable(resource),
            None => Err(self.unknown(name.trim(), word)),
        }
    }

    /// The resource of exactly this group (empty for the core group), version and plural name: client-go's
    /// `GroupVersionResource`.
    ///
    /// # Errors
    /// As [`Discovery::resolve`].
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Result<&DiscoveredResource, Error> {
        let found = self.resources.iter().find(|resource| {
            let names = &resource.names;
            names.group == group && names.version == version && names.plural == plural
        });
        match found {
            Some(resource) => watchable(resource),
            None => Err(self.unknown(&format!("{plural}.{version}.{group}"), plural)),
        }
    }

    fn first(&self, word: &str, place: Place<'_>) -> Option<&DiscoveredResource> {
        [Names::PluralAndSingular, Names::Short, Names::Kind]
            .into_iter()
            .find_map(|names| {
                let mut resources = self.resources.iter();
                resources.find(|resource| place.holds(resource) && names.of(resource, word))
            })
    }

    fn unknown(&self, asked: &str, word: &str) -> Error {
        Error::new(Problem::Discovery(DiscoveryProblem::Unknown {
            asked: asked.to_owned(),
            near: near_misses(
                word,
                self.resources.iter().filter(|resource| resource.is_watchable()),
            ),
            untold: self.failures().map(|(place, _)| place).collect(),
        }))
    }
}

impl Place<'_> {
    fn holds(self, resource: &DiscoveredResource) -> bool {
        let names = &resource.names;
        match self {
            Place::Anywhere => true,
            Place::Version { version, group } => names.version == version && names.group == group,
            Place::Group(group) => names.group == group,
            Place::GroupThatBegins(beginning) => names.group.starts_with(beginning),
        }
    }
}

impl Names {
    fn of(self, resource: &DiscoveredResource, word: &str) -> bool {
        match self {
            Names::PluralAndSingular => resource.names.plural == word || resource.singular == word,
            Names::Short => resource.short_names.iter().any(|short| short == word),
            Names::Kind => resource.names.kind.to_lowercase() == word,
        }
    }
}

/// The name itself and where to look for it. Whether the first part after it is a version or begins a group cannot be
/// seen, so that both are tried.
fn places(asked: &str) -> (&str, Vec<Place<'_>>) {
    let Some((word, rest)) = asked.split_once('.') else {
        return (asked, vec![Place::Anywhere]);
    };
    let mut places = Vec::new();
    if let Some((version, group)) = rest.split_once('.') {
        places.push(Place::Version { version, group });
    }
    places.extend([Place::Group(rest), Place::GroupThatBegins(rest)]);
    (word, places)
}

fn watchable(resource: &DiscoveredResource) -> Result<&DiscoveredResource, Error> {
    if resource.is_watchable() {
        return Ok(resource);
    }
    Err(Error::new(Problem::Discovery(DiscoveryProblem::NotWatchable {
        resource: resource.to_string(),
        verbs: resource.verbs.clone(),
    })))
}
