//! Merges two values. Nothing is removed; fields that are in both are taken from the configuration.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Atom, ListKind, MapAtom, PathElement, SchemaNode, fields_of, item_element, items_of};

/// Merges `config` into `live`. Both are valid for the type, and lists in `config` have no duplicates.
pub(in crate::patch) fn merge(node: SchemaNode<'_>, live: &Value, config: &Value) -> Value {
    values(node, Some(live), Some(config)).unwrap_or_default()
}

fn values(node: SchemaNode<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    match node.atom(config.or(live)) {
        Atom::Scalar(_) | Atom::List(_, ListKind::Atomic) => config.or(live).cloned(),
        Atom::List(item, kind) => {
            let (below, above) = (items_of(live), items_of(config));
            if below.is_empty() && above.is_empty() {
                return config.or(live).cloned();
            }
            Some(Value::Array(items(item, kind, below, above)))
        }
        Atom::Map(map) => {
            let (below, above) = (fields_of(live), fields_of(config));
            if map.atomic || (below.is_none() && above.is_none()) {
                return config.or(live).cloned();
            }
            Some(Value::Object(fields(&map, below, above)))
        }
    }
}

type Fields<'a> = Option<&'a Map<String, Value>>;

fn fields(map: &MapAtom<'_>, live: Fields<'_>, config: Fields<'_>) -> Map<String, Value> {
    let names: BTreeSet<&String> = live.into_iter().chain(config).flat_map(Map::keys).collect();
    names
        .into_iter()
        .filter_map(|name| {
            let merged = values(
                map.child(name),
                live.and_then(|live| live.get(name)),
                config.and_then(|config| config.get(name)),
            )?;
            Some((name.clone(), merged))
        })
        .collect()
}

/// Merges lists: common items in the order of `config`, with the items that are only in `live` at their position among
/// them.
fn items(node: SchemaNode<'_>, kind: &ListKind, live: &[Value], config: &[Value]) -> Vec<Value> {
    let identify = |list: &[Value]| -> Vec<Option<PathElement>> {
        list.iter()
            .map(|item| item_element(&node, kind, item).ok())
            .collect()
    };
    let (below, above) = (identify(live), identify(config));
    // A duplicate item of the live list is not merged.
    let mut live_items: BTreeMap<&PathElement, Option<&Value>> = BTreeMap::new();
    for (element, item) in below.iter().zip(live) {
        if let Some(element) = element {
            live_items
                .entry(element)
                .and_modify(|v| *v = None)
                .or_insert(Some(item));
        }
    }
    let config_items: BTreeMap<&PathElement, &Value> = above
        .iter()
        .zip(config)
        .filter_map(|(e, v)| Some((e.as_ref()?, v)))
        .collect();
    let mut shared = above.iter().flatten().filter(|e| live_items.contains_key(e));
    let mut next_shared = shared.next();
    let mut taken: BTreeSet<&PathElement> = BTreeSet::new();
    let mut out = Vec::with_capacity(live.len().max(config.len()));
    let take = |element: &PathElement, out: &mut Vec<Value>| {
        let below = live_items.get(element).copied().flatten();
        out.extend(values(node, below, config_items.get(element).copied()));
    };
    let (mut l, mut c) = (0, 0);
    while l < below.len() || c < above.len() {
        let lower = below.get(l).map(Option::as_ref);
        let upper = above.get(c).map(Option::as_ref);
        if let (Some(Some(lower)), Some(Some(upper))) = (lower, upper) {
            if lower == upper {
                taken.insert(lower);
                take(lower, &mut out);
                l += 1;
                c += 1;
                next_shared = shared.next();
                continue;
            }
            if config_items.contains_key(lower) && next_shared.is_some_and(|next| next != lower) {
                l += 1;
                continue;
            }
        }
        match lower {
            Some(Some(lower)) if taken.contains(lower) => l += 1,
            Some(Some(lower)) if config_items.contains_key(lower) => {}
            Some(_) => {
                out.extend(live.get(l).cloned());
                l += 1;
                continue;
            }
            None => {}
        }
        if let Some(upper) = upper {
            c += 1;
            if let Some(upper) = upper {
                taken.insert(upper);
                take(upper, &mut out);
                if next_shared == Some(upper) {
                    next_shared = shared.next();
                }
            }
        }
    }
    out
}
