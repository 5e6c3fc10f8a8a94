//! Tests of several namespaces in one store.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ConfigMap;

use super::{TestStore, key, tagged};
use crate::object::{Key, ResourceVersion};
use crate::pipeline::reflector::{Delta, Scope};
use crate::pipeline::store::{Change, Scopes, Seed};

const NAMESPACES: [&str; 3] = ["a", "b", "c"];

/// The objects and the version of each namespace; no version before its first list.
#[derive(Default)]
struct ScopesModel {
    objects: BTreeMap<Key, u64>,
    versions: BTreeMap<&'static str, u64>,
}

/// Formats the changes.
fn words(changes: &[Change<ConfigMap>]) -> BTreeSet<String> {
    let word = |change: &Change<ConfigMap>| match change {
        Change::Added { new } => format!("+{new:?}"),
        Change::Updated { new, .. } => format!("~{new:?}"),
        Change::Deleted { old, unknown, .. } => format!("{}{old:?}", if *unknown { "?" } else { "-" }),
    };
    changes.iter().map(word).collect()
}

fn check(cache: &TestStore<ConfigMap>, model: &ScopesModel) {
    let snapshot = cache.store.snapshot();
    let versions = cache.store.versions();
    let versions = versions.borrow();
    let filled = model.versions.len() == NAMESPACES.len();
    let least = model.versions.values().min().filter(|_| filled);
    assert_eq!(
        snapshot.version(),
        least.map(|version| ResourceVersion::from(*version)).as_ref()
    );
    for namespace in NAMESPACES {
        // Namespaces are unversioned as long as they are hidden from readers.
        let reached = model.versions.get(namespace).filter(|_| filled);
        let reached = reached.map(|version| ResourceVersion::from(*version));
        assert_eq!(versions.in_namespace(Some(namespace)), reached, "{namespace}");
    }
    for (key, version) in &model.objects {
        // Lists find the objects of earlier lists, even if they are hidden from readers.
        let known = cache
            .store
            .get_at_version(key, &ResourceVersion::from(*version), None);
        assert!(known.is_some(), "{key}@{version}");
    }
    assert_eq!(versions.unlisted().len(), NAMESPACES.len() - model.versions.len());
    let found: BTreeMap<Key, u64> = snapshot
        .iter()
        .map(|object| {
            (
                object.key().clone(),
                object.version().to_string().parse().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        found,
        if filled {
            model.objects.clone()
        } else {
            BTreeMap::new()
        }
    );
}

fn play(seed: u64, hashes: Seed) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut cache = TestStore::<ConfigMap>::of_scopes(hashes, Scopes::of_namespaces(NAMESPACES));
    let by_name = cache
        .index("name", |map: &ConfigMap| map.metadata.name.clone())
        .unwrap();
    let mut model = ScopesModel::default();
    for version in 1..300 {
        let at = random.usize(..NAMESPACES.len());
        let namespace = NAMESPACES[at];
        let name = key(&format!("{namespace}/{}", random.u8(..5)));
        let listed = model.versions.contains_key(namespace);
        let filled = model.versions.len() == NAMESPACES.len();
        let (changes, expected) = match random.u8(..10) {
            // A watch starts after a list.
            _ if !listed => list(&mut cache, &mut model, at, version, &mut random),
            0 => list(&mut cache, &mut model, at, version, &mut random),
            1..=2 => {
                let bookmark = Delta::Bookmark(ResourceVersion::from(version), Scope(at));
                (cache.apply(bookmark), BTreeSet::new())
            }
            3..=5 => {
                let old = model.objects.remove(&name);
                let changes = cache.delete(tagged(&name, version, 1, &[]));
                (
                    changes,
                    old.map(|old| format!("-{name}@{old}")).into_iter().collect(),
                )
            }
            _ => {
                let old = model.objects.insert(name.clone(), version);
                let sign = if old.is_some() { '~' } else { '+' };
                let changes = cache.upsert(tagged(&name, version, 1, &[]));
                (changes, BTreeSet::from([format!("{sign}{name}@{version}")]))
            }
        };
        model.versions.insert(namespace, version);
        if filled {
            assert_eq!(words(&changes), expected, "seed {seed}, version {version}");
        }
        assert!(cache.publish().is_empty());
        check(&cache, &model);
        let filled = model.versions.len() == NAMESPACES.len();
        let named = model
            .objects
            .keys()
            .filter(|key| filled && key.name() == "3")
            .count();
        assert_eq!(by_name.get("3").len(), named);
    }
}

/// Applies a list of one namespace: some objects are removed, some added, some unchanged.
fn list(
    cache: &mut TestStore<ConfigMap>,
    model: &mut ScopesModel,
    at: usize,
    version: u64,
    random: &mut fastrand::Rng,
) -> (Vec<Change<ConfigMap>>, BTreeSet<String>) {
    let namespace = NAMESPACES[at];
    let mut expected = BTreeSet::new();
    let mut items = Vec::new();
    for number in 0..5 {
        let name = key(&format!("{namespace}/{number}"));
        let old = model.objects.get(&name).copied();
        let now = match random.u8(..3) {
            0 => None,
            1 => old,
            _ => Some(version),
        };
        match (old, now) {
            (Some(old), None) => expected.insert(format!("?{name}@{old}")),
            (Some(old), Some(now)) if old != now => expected.insert(format!("~{name}@{now}")),
            (None, Some(now)) => expected.insert(format!("+{name}@{now}")),
            _ => false,
        };
        model.objects.remove(&name);
        if let Some(now) = now {
            model.objects.insert(name.clone(), now);
            items.push(cache.listed(tagged(&name, now, 1, &[])));
        }
    }
    (cache.replace_in(Scope(at), items, version), expected)
}

#[test]
fn contract_1_each_namespace_is_at_its_version_and_a_list_replaces_only_its_own() {
    for seed in 0..60 {
        play(seed, Seed::new(seed));
        // All namespaces in one range of hashes.
        play(seed, Seed::colliding(seed, 1));
    }
}

#[test]
fn a_removed_kind_is_reported_for_its_namespace_and_for_all_namespaces() {
    let mut cache = TestStore::<ConfigMap>::of_scopes(Seed::new(1), Scopes::of_namespaces(["a", "b"]));
    cache.replace_in(Scope(0), Vec::new(), 5);
    cache.replace_in(Scope(1), Vec::new(), 6);
    let removed = |cache: &mut TestStore<ConfigMap>| {
        cache.publish();
        let snapshot = cache.store.snapshot();
        [Some("a"), Some("b"), None].map(|namespace| snapshot.is_kind_removed_in(namespace))
    };
    assert_eq!(removed(&mut cache), [false, false, false]);
    cache.apply(Delta::KindRemoved {
        version: ResourceVersion::from(5),
        scope: Scope(0),
    });
    assert_eq!(removed(&mut cache), [true, false, true]);
    cache.replace_in(Scope(0), Vec::new(), 7);
    assert_eq!(removed(&mut cache), [false, false, false]);
}

#[test]
fn unordered_versions_are_not_reached_by_numbers() {
    let mut cache = TestStore::<ConfigMap>::of_scopes(Seed::new(1), Scopes::of_namespaces(["a", "b"]));
    cache.replace_in(Scope(0), Vec::new(), 5);
    let opaque = ResourceVersion::from("x9");
    cache.replace_in(Scope(1), Vec::new(), 6);
    cache.apply(Delta::Bookmark(opaque, Scope(1)));
    cache.publish();
    let version = cache.store.version().unwrap();
    assert_eq!(version.to_string(), "5,x9");
    assert!(!version.is_comparable());
}
