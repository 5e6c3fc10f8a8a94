//! Checks the results of indexes and objects.

use std::collections::BTreeMap;

use contract_checker::{CacheContents, ObjectState};
use kube_informer::{Key, Kind, Object, Selector, Snapshot};
use serde::Serialize;

use crate::objects::{self, CHOSEN, NOISE, TRANSFORMED, VALUE, value_of};
use crate::plan::{InformerPlan, ObjectFormat, TransformPlan};

/// The index that informers have from the beginning.
pub(super) const IS_CHOSEN: &str = "is-chosen";
/// The index that is added to running informers.
pub(super) const PARITY: &str = "parity";
/// Number of objects to decode in each check.
const DECODED: usize = 2;

#[expect(
    clippy::unnecessary_wraps,
    reason = "index functions return values that can be iterated"
)]
pub(super) fn is_chosen<K: Kind>(object: &K) -> Option<String> {
    let labels = object.meta().labels.as_ref();
    let is_chosen = labels.is_some_and(|labels| labels.contains_key(CHOSEN));
    Some(is_chosen.to_string())
}

pub(super) fn parity<K: Kind>(object: &K) -> Option<String> {
    let value: u64 = object.meta().annotations.as_ref()?.get(VALUE)?.parse().ok()?;
    Some((value % 2).to_string())
}

/// Returns the first wrong result. Only some objects are decoded, starting with the `from`-th.
pub(super) fn check<K: Kind + Serialize>(
    snapshot: &Snapshot<K>,
    plan: &InformerPlan,
    contents: &CacheContents,
    from: usize,
) -> Option<String> {
    let indexed = snapshot.index_names().find_map(|name| match name {
        IS_CHOSEN => check_index(snapshot, contents, name, |state| {
            objects::is_chosen(state).to_string()
        }),
        _ => check_index(snapshot, contents, name, |state| {
            (value_of(state) % 2).to_string()
        }),
    });
    if snapshot.len() != contents.objects.len() {
        return Some(format!(
            "{} objects by count, {} by iteration",
            snapshot.len(),
            contents.objects.len()
        ));
    }
    let from = from % snapshot.len().max(1);
    let mut some = snapshot.iter().skip(from).take(DECODED);
    indexed.or_else(|| some.find_map(|object| check_object(&object, plan)))
}

fn check_index<K: Kind>(
    snapshot: &Snapshot<K>,
    contents: &CacheContents,
    name: &str,
    value_of: impl Fn(&ObjectState) -> String,
) -> Option<String> {
    for value in ["true", "false", "0", "1"] {
        let mut found = snapshot.keys_by_name(name, value).ok()?;
        found.sort();
        let wanted: Vec<Key> = contents
            .objects
            .iter()
            .filter(|(_, state)| value_of(state) == value)
            .map(|(key, _)| key.clone())
            .collect();
        if found != wanted {
            return Some(format!(
                "index {name:?} finds {found:?} for {value}, expected {wanted:?}"
            ));
        }
    }
    None
}

fn check_object<K: Kind + Serialize>(object: &Object<K>, plan: &InformerPlan) -> Option<String> {
    let key = object.key();
    let metadata = object.meta();
    let empty = BTreeMap::new();
    let labels = metadata.labels.as_ref().unwrap_or(&empty);
    let annotations = metadata.annotations.as_ref().unwrap_or(&empty);
    for name in [CHOSEN, TRANSFORMED, "written", "none"] {
        let (label, decoded) = (object.label(name), labels.get(name));
        if label.as_deref() != decoded.map(String::as_str) {
            return Some(format!(
                "{key}: label {name:?} is {label:?}, but {decoded:?} when decoded"
            ));
        }
        let selector: Selector = name.parse().ok()?;
        if object.matches(&selector) != decoded.is_some() {
            return Some(format!(
                "{key}: selector {name:?} disagrees with the decoded labels"
            ));
        }
    }
    for name in [VALUE, NOISE] {
        let (annotation, decoded) = (object.annotation(name), annotations.get(name));
        if annotation.as_deref() != decoded.map(String::as_str) {
            return Some(format!(
                "{key}: annotation {name:?} is {annotation:?}, but {decoded:?} when decoded"
            ));
        }
    }
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    if *object.owner_references() != *owners {
        return Some(format!(
            "{key}: owner references differ from those of the decoded object"
        ));
    }
    if object.uid().as_deref() != metadata.uid.as_deref() {
        return Some(format!("{key}: uid differs from that of the decoded object"));
    }
    let version = metadata.resource_version.as_deref().unwrap_or_default();
    if object.version().to_string() != version {
        return Some(format!(
            "{key}: version {}, but {version} when decoded",
            object.version()
        ));
    }
    let is_transformed = labels.contains_key(TRANSFORMED) && !annotations.contains_key(NOISE);
    if is_transformed != (plan.transform != TransformPlan::None) {
        return Some(format!("{key}: transformed is {is_transformed}"));
    }
    if metadata.managed_fields.is_some() != plan.keeps_managed_fields {
        return Some(format!(
            "{key}: managed fields are {:?}",
            metadata.managed_fields.is_some()
        ));
    }
    check_data(object, plan, annotations.get(VALUE)?)
}

fn check_data<K: Kind + Serialize>(object: &Object<K>, plan: &InformerPlan, value: &str) -> Option<String> {
    if plan.format == ObjectFormat::Metadata {
        return None;
    }
    let json = serde_json::to_value(&**object).ok()?;
    let found = json["data"]["value"].as_str();
    let wanted = (!plan.prunes_data).then_some(value);
    (found != wanted).then(|| format!("{}: data is {found:?} instead of {wanted:?}", object.key()))
}
