//! Rules of roles.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::{Action, ActionTarget};

/// A rule of a role: verbs on resources or paths.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PolicyRule {
    #[serde(deserialize_with = "list")]
    pub(super) verbs: Vec<String>,
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub(super) api_groups: Vec<String>,
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub(super) resources: Vec<String>,
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub(super) resource_names: Vec<String>,
    #[serde(
        rename = "nonResourceURLs",
        deserialize_with = "list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub(super) non_resource_urls: Vec<String>,
}

/// Decodes a list or `null`.
fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

impl PolicyRule {
    /// Returns whether the rule is for paths, not resources.
    pub(crate) fn is_about_paths(&self) -> bool {
        !self.non_resource_urls.is_empty()
    }

    /// Returns whether the rule allows an action.
    pub(super) fn allows(&self, action: &Action) -> bool {
        if !has(&self.verbs, &action.verb) {
            return false;
        }
        match &action.target {
            ActionTarget::Path(path) => self.non_resource_urls.iter().any(|url| url_covers(url, path)),
            ActionTarget::Resource {
                group,
                resource,
                subresource,
                name,
                ..
            } => {
                has(&self.api_groups, group)
                    && self
                        .resources
                        .iter()
                        .any(|r| resource_covers(r, resource, subresource))
                    && (self.resource_names.is_empty() || self.resource_names.contains(name))
            }
        }
    }

    /// Returns whether the rule allows everything that `other` allows. `other` has one value of each field.
    fn covers(&self, other: &PolicyRule) -> bool {
        let groups = |wanted: &String| has(&self.api_groups, wanted);
        let resources = |wanted: &String| {
            let (resource, subresource) = wanted.split_once('/').unwrap_or((wanted, ""));
            self.resources
                .iter()
                .any(|r| resource_covers(r, resource, subresource))
        };
        let names = self.resource_names.is_empty()
            || (!other.resource_names.is_empty()
                && other
                    .resource_names
                    .iter()
                    .all(|n| self.resource_names.contains(n)));
        let urls = |wanted: &String| self.non_resource_urls.iter().any(|url| url_covers(url, wanted));
        other.verbs.iter().all(|verb| has(&self.verbs, verb))
            && other.api_groups.iter().all(groups)
            && other.resources.iter().all(resources)
            && names
            && other.non_resource_urls.iter().all(urls)
    }

    /// Splits the rule into rules with one value of each field.
    fn split(&self) -> Vec<PolicyRule> {
        let mut parts = Vec::new();
        let one = |value: &String| vec![value.clone()];
        for verb in &self.verbs {
            for url in &self.non_resource_urls {
                parts.push(PolicyRule {
                    verbs: one(verb),
                    non_resource_urls: one(url),
                    ..PolicyRule::default()
                });
            }
        }
        let names: Vec<Vec<String>> = match self.resource_names.as_slice() {
            [] => vec![Vec::new()],
            names => names.iter().map(one).collect(),
        };
        for group in &self.api_groups {
            for resource in &self.resources {
                for names in &names {
                    for verb in &self.verbs {
                        parts.push(PolicyRule {
                            verbs: one(verb),
                            api_groups: one(group),
                            resources: one(resource),
                            resource_names: names.clone(),
                            non_resource_urls: Vec::new(),
                        });
                    }
                }
            }
        }
        parts
    }
}

/// Returns the rules that `wanted` contains and `held` does not cover, merged by resource and sorted by their text.
pub(super) fn missing(held: &[&PolicyRule], wanted: &[PolicyRule]) -> Vec<PolicyRule> {
    let mut missing: Vec<PolicyRule> = Vec::new();
    for part in wanted.iter().flat_map(PolicyRule::split) {
        if held.iter().any(|rule| rule.covers(&part)) {
            continue;
        }
        let same = missing.iter_mut().find(|known| {
            !part.is_about_paths()
                && known.api_groups == part.api_groups
                && known.resources == part.resources
                && known.resource_names == part.resource_names
                && !known.is_about_paths()
        });
        match same {
            Some(known) => {
                let new = part.verbs.into_iter().filter(|verb| !known.verbs.contains(verb));
                let new: Vec<String> = new.collect();
                known.verbs.extend(new);
            }
            None => missing.push(part),
        }
    }
    missing.sort_by_cached_key(ToString::to_string);
    missing.dedup();
    missing
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|entry| entry == "*" || entry == wanted)
}

/// Returns whether an entry such as `pods`, `pods/log`, `*/scale` or `*` matches this resource.
fn resource_covers(entry: &str, resource: &str, subresource: &str) -> bool {
    if entry == "*" {
        return true;
    }
    match entry.split_once('/') {
        None => subresource.is_empty() && entry == resource,
        Some((of, part)) => !subresource.is_empty() && part == subresource && (of == "*" || of == resource),
    }
}

/// Returns whether an entry such as `/healthz`, `/apis/*` or `*` matches this path.
fn url_covers(entry: &str, path: &str) -> bool {
    match entry.strip_suffix('*') {
        Some(beginning) => path.starts_with(beginning),
        None => entry == path,
    }
}

/// Formats the rule for messages, like kube-apiserver.
impl fmt::Display for PolicyRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let shown = fields.into_iter().filter(|(_, values)| !values.is_empty());
        let shown: Vec<String> = shown
            .map(|(name, values)| format!("{name}:{}", quoted(values)))
            .collect();
        write!(f, "{{{}}}", shown.join(", "))
    }
}

/// Formats a list like Go's `%q`.
pub(super) fn quoted(values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    format!("[{}]", values.join(" "))
}
