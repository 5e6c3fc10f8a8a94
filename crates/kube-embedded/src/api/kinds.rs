//! Parses `kinds.txt`, the table of built-in resources.
//!
//! Invalid lines panic, because the table is part of the program.

use std::collections::HashMap;

use super::resource::{ObjectSchema, Resource, Subresource, builtin_selectable, group_version};
use crate::schema::Types;
use crate::store::CollectionId;

/// Returns the built-in resources in the order of discovery.
pub(super) fn builtin() -> Vec<Resource> {
    let mut resources: Vec<Resource> = Vec::new();
    let mut collections = Collections::default();
    for line in include_str!("kinds.txt")
        .lines()
        .filter(|l| !l.starts_with('#') && !l.is_empty())
    {
        if let Some(line) = line.strip_prefix("  ") {
            let parent = resources.last_mut().expect("a resource before its subresources");
            parent.subresources.push(subresource(line));
        } else {
            resources.push(resource(line, &mut collections));
        }
    }
    resources
}

/// Assigns one collection to all versions of a resource. The first version is the stored one.
#[derive(Default)]
struct Collections {
    known: HashMap<(String, String), (CollectionId, String)>,
}

impl Collections {
    fn of(&mut self, group: &str, version: &str, plural: &str) -> (CollectionId, String) {
        // Both kinds of events share a collection, which stores those of the core group.
        let group = if group == "events.k8s.io" { "" } else { group };
        let first = || (format!("{group}/{plural}").into(), group_version(group, version));
        self.known
            .entry((group.into(), plural.into()))
            .or_insert_with(first)
            .clone()
    }
}

fn resource(line: &str, collections: &mut Collections) -> Resource {
    let words: Vec<&str> = line.split(' ').collect();
    let [
        group,
        version,
        plural,
        singular,
        kind,
        scope,
        verbs,
        type_name,
        extras @ ..,
    ] = words.as_slice()
    else {
        panic!("cannot read resource: {line}");
    };
    let extra = |label: &str| {
        extras
            .iter()
            .find_map(|e| e.strip_prefix(label)?.strip_prefix('='))
            .unwrap_or_default()
    };
    let group = undash(group);
    let (collection, stored_as) = collections.of(group, version, plural);
    Resource {
        group: group.into(),
        version: (*version).into(),
        plural: (*plural).into(),
        singular: undash(singular).into(),
        kind: (*kind).into(),
        list_kind: format!("{kind}List"),
        namespaced: *scope == "namespaced",
        verbs: words_of(verbs),
        short_names: words_of(extra("short")),
        categories: words_of(extra("cat")),
        storage_version_hash: extra("hash").into(),
        subresources: Vec::new(),
        collection,
        stored_as,
        selectable: builtin_selectable(group, kind)
            .iter()
            .map(|s| (*s).to_owned())
            .collect(),
        schema: ObjectSchema::BuiltIn(Types::builtin().find(type_name)),
        deprecation: builtin_deprecation(group, version, plural),
    }
}

fn subresource(line: &str) -> Subresource {
    let words: Vec<&str> = line.split(' ').collect();
    let [name, kind, verbs] = words.as_slice() else {
        panic!("cannot read subresource: {line}")
    };
    let parts: Vec<&str> = kind.split('/').collect();
    let [group, version, kind] = parts.as_slice() else {
        panic!("cannot read subresource: {line}")
    };
    Subresource {
        name: (*name).into(),
        group: undash(group).into(),
        version: (*version).into(),
        kind: (*kind).into(),
        verbs: words_of(verbs),
    }
}

/// Returns the warning for clients of a deprecated resource.
fn builtin_deprecation(group: &str, version: &str, plural: &str) -> Option<String> {
    match (group, version, plural) {
        ("", "v1", "componentstatuses") => Some("v1 ComponentStatus is deprecated in v1.19+".into()),
        ("", "v1", "endpoints") => {
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".into())
        }
        _ => None,
    }
}

fn undash(word: &str) -> &str {
    if word == "-" { "" } else { word }
}

fn words_of(text: &str) -> Vec<String> {
    text.split(',')
        .filter(|w| !w.is_empty())
        .map(str::to_owned)
        .collect()
}
