//! Resolves the names that people type to resources.

use super::suggestions::suggestions;
use super::{DiscoveredResource, Discovery};
use crate::error::{DiscoveryProblem, Error, Problem};

/// The meaning of the text after the name, as in `deployments.v1.apps`.
#[derive(Debug, Clone, Copy)]
enum Qualifier<'a> {
    None,
    Version { version: &'a str, group: &'a str },
    Group(&'a str),
    GroupPrefix(&'a str),
}

/// The kinds of names that a resource has.
#[derive(Debug, Clone, Copy)]
enum NameKind {
    PluralOrSingular,
    Short,
    Kind,
}

impl Discovery {
    /// Returns the resource with a name.
    ///
    /// Accepts what `kubectl` accepts: the plural, singular or short name or the kind, in upper or lower case, alone or followed
    /// by a group (`deploy.apps`) or by a version and a group (`deployments.v1.apps`; `pods.v1.` in the core group). A prefix of
    /// the group suffices (`ingresses.networking`).
    ///
    /// If several resources have the name, plural and singular names take precedence over short names, and those over kinds. Then
    /// the server's order of groups decides, which begins with the core group (so `events` are not those of `events.k8s.io`), and
    /// then the preferred version of the group. Add the group to be unambiguous.
    ///
    /// # Errors
    /// Returns an error if no resource has the name ([`Error::is_unknown_resource`]; the hint contains similar names),
    /// or if the resource does not support both list and watch ([`Error::is_not_watchable`]).
    pub fn resolve(&self, name: &str) -> Result<&DiscoveredResource, Error> {
        let lowercase = name.trim().to_lowercase();
        let (word, qualifiers) = parse(&lowercase);
        match qualifiers
            .into_iter()
            .find_map(|qualifier| self.first(word, qualifier))
        {
            Some(resource) => watchable(resource),
            None => Err(self.unknown(name.trim(), word)),
        }
    }

    /// Returns the resource with exactly this group (empty for the core group), version and plural name, as client-go's
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

    fn first(&self, word: &str, qualifier: Qualifier<'_>) -> Option<&DiscoveredResource> {
        [NameKind::PluralOrSingular, NameKind::Short, NameKind::Kind]
            .into_iter()
            .find_map(|kind| {
                let mut resources = self.resources.iter();
                resources.find(|resource| qualifier.matches(resource) && kind.matches(resource, word))
            })
    }

    fn unknown(&self, asked: &str, word: &str) -> Error {
        Error::new(Problem::Discovery(DiscoveryProblem::Unknown {
            asked: asked.to_owned(),
            near: suggestions(
                word,
                self.resources.iter().filter(|resource| resource.is_watchable()),
            ),
            unavailable: self.failures().map(|(group_version, _)| group_version).collect(),
        }))
    }
}

impl Qualifier<'_> {
    fn matches(self, resource: &DiscoveredResource) -> bool {
        let names = &resource.names;
        match self {
            Qualifier::None => true,
            Qualifier::Version { version, group } => names.version == version && names.group == group,
            Qualifier::Group(group) => names.group == group,
            Qualifier::GroupPrefix(prefix) => names.group.starts_with(prefix),
        }
    }
}

impl NameKind {
    fn matches(self, resource: &DiscoveredResource, word: &str) -> bool {
        match self {
            NameKind::PluralOrSingular => resource.names.plural == word || resource.singular == word,
            NameKind::Short => resource.short_names.iter().any(|short| short == word),
            NameKind::Kind => resource.names.kind.to_lowercase() == word,
        }
    }
}

/// Splits a text into the name and the meanings of what follows it, in the order in which they are tried. The part after the
/// first dot may be a version or the beginning of a group.
fn parse(text: &str) -> (&str, Vec<Qualifier<'_>>) {
    let Some((word, rest)) = text.split_once('.') else {
        return (text, vec![Qualifier::None]);
    };
    let mut qualifiers = Vec::new();
    if let Some((version, group)) = rest.split_once('.') {
        qualifiers.push(Qualifier::Version { version, group });
    }
    qualifiers.extend([Qualifier::Group(rest), Qualifier::GroupPrefix(rest)]);
    (word, qualifiers)
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
