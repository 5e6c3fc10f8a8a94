//! Records the field owners of creates, updates and patches: the sender owns the fields that it changed.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::field_set::{FieldSet, equal_values};
use super::managers::{
    ManagerId, Managers, Operation, Owned, asks_reset, remove_entries, seconds, stamp, without_entries,
};
use super::typed::{self, Duplicates, SchemaNode};
use crate::schema::{Type, Types};

/// Maximum number of separate managers by updates.
const MAX_UPDATE_MANAGERS: usize = 10;

/// A write, and the object that it changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Update<'a> {
    pub(crate) types: &'a Types,
    pub(crate) ty: &'a Type,
    /// Version of the endpoint, for example `apps/v1`.
    pub(crate) api_version: &'a str,
    /// The object before the write; `None` if it is created.
    pub(crate) old: Option<&'a Value>,
    pub(crate) manager: &'a str,
    /// Empty for the object itself.
    pub(crate) subresource: &'a str,
    /// Fields that this endpoint does not write, such as `status`. Its requests do not own them.
    pub(crate) reset: &'a FieldSet,
    pub(crate) now: Timestamp,
}

/// Records a write in the `managedFields` of `new`.
///
/// `new` is the object to store, with the `managedFields` of the client, if any.
pub(crate) fn record_update(write: Update<'_>, new: &mut Value) {
    let mut managers = write.managers(new);
    remove_entries(new);
    let is_create = write
        .old
        .is_none_or(|old| old["metadata"]["uid"].as_str().unwrap_or_default().is_empty());
    if managers.0.is_empty() && !is_create {
        return;
    }
    let node = SchemaNode::root(write.types, write.ty);
    let old = match write.old {
        Some(old) => without_entries(old),
        None => blank_for(write.types, write.ty, new),
    };
    let valid = [&old, new]
        .iter()
        .all(|o| typed::validate(node, o, Duplicates::Allowed).is_ok());
    if !valid {
        return;
    }
    let change = Change {
        node,
        reset: write.reset,
        api_version: write.api_version,
        now: write.now,
    };
    let id = ManagerId::new(
        write.manager,
        Operation::Update,
        write.api_version,
        write.subresource,
    );
    change.record(&old, new, &mut managers, &id);
    merge_oldest(&mut managers);
    managers.write_to(new);
}

/// Returns the blank object before `new`. It contains the nulls of `new`, which are fields that Go cannot omit.
fn blank_for(types: &Types, ty: &Type, new: &Value) -> Value {
    fn add_nulls(blank: &mut Value, new: &Value) {
        let (Some(blank), Some(new)) = (blank.as_object_mut(), new.as_object()) else {
            return;
        };
        for (name, value) in new {
            if value.is_null() {
                blank.entry(name.as_str()).or_insert(Value::Null);
            } else if let Some(below) = blank.get_mut(name) {
                add_nulls(below, value);
            }
        }
    }
    let mut blank = typed::blank(types, ty);
    add_nulls(&mut blank, new);
    blank
}

/// Sets the times of `new` to those of `old` if nothing else differs, so that the object is unchanged.
pub(crate) fn keep_times(old: &Value, new: &mut Value) {
    let timeless = |object: &Value| {
        let mut entries = object["metadata"]["managedFields"].clone();
        for entry in entries.as_array_mut().into_iter().flatten() {
            if let Some(entry) = entry.as_object_mut() {
                entry.remove("time");
            }
        }
        entries
    };
    let entries = &old["metadata"]["managedFields"];
    let same = entries.is_array()
        && timeless(old) == timeless(new)
        && equal_values(&without_entries(old), &without_entries(new));
    if let (true, Some(metadata)) = (same, new.get_mut("metadata").and_then(Value::as_object_mut)) {
        metadata.insert("managedFields".into(), entries.clone());
    }
}

impl Update<'_> {
    /// Returns the managers before this write: the client's if it sends any, otherwise the server's. Requests to
    /// subresources cannot change them.
    fn managers(&self, new: &Value) -> Managers {
        let live = || {
            self.old
                .and_then(|old| Managers::of(old).ok())
                .unwrap_or_default()
        };
        if !self.subresource.is_empty() {
            return live();
        }
        if asks_reset(new) {
            return Managers::default();
        }
        match Managers::of(new) {
            Ok(sent) if !sent.0.is_empty() => sent,
            _ => live(),
        }
    }
}

/// A change to record, except by server-side apply.
pub(super) struct Change<'a> {
    pub(super) node: SchemaNode<'a>,
    pub(super) reset: &'a FieldSet,
    pub(super) api_version: &'a str,
    pub(super) now: Timestamp,
}

impl Change<'_> {
    /// Makes `id` the only owner of the fields that differ.
    pub(super) fn record(&self, old: &Value, new: &Value, managers: &mut Managers, id: &ManagerId) {
        let changes = typed::compare(self.node, old, new).without(self.reset);
        // The previous entry of the sender is handled like those of other managers, so that only current changes count.
        let current = ManagerId::new("current-operation", Operation::Update, "", "");
        // A forced release returns no conflicts.
        let _ = managers.release(&changes, &current, true);
        managers.0.insert(
            current.clone(),
            Owned {
                fields: changes.modified.union(changes.added),
                api_version: self.api_version.to_owned(),
                time: Some(stamp(self.now)),
            },
        );
        managers.strip(&current);
        if let Some(mut owned) = managers.0.remove(&current) {
            if let Some(former) = managers.0.remove(id) {
                owned.fields = owned.fields.union(former.fields);
            }
            managers.0.insert(id.clone(), owned);
        }
    }
}

/// Merges the oldest entries of each version until there are at most [`MAX_UPDATE_MANAGERS`].
fn merge_oldest(managers: &mut Managers) {
    let mut updaters: Vec<ManagerId> = managers
        .0
        .keys()
        .filter(|id| id.operation == Operation::Update)
        .cloned()
        .collect();
    let mut count = updaters.len();
    updaters.sort_by_key(|id| {
        (
            seconds(managers.0.get(id).and_then(|o| o.time.as_ref())),
            id.clone(),
        )
    });
    let mut first_of_version: BTreeMap<String, ManagerId> = BTreeMap::new();
    for id in updaters {
        if count <= MAX_UPDATE_MANAGERS {
            return;
        }
        let Some(owned) = managers.0.get(&id).cloned() else {
            continue;
        };
        let Some(first) = first_of_version.get(&owned.api_version) else {
            first_of_version.insert(owned.api_version, id);
            continue;
        };
        let bucket = ManagerId::new("ancient-changes", Operation::Update, &owned.api_version, "");
        if !managers.0.contains_key(&bucket) {
            let Some(first) = managers.0.remove(first) else {
                continue;
            };
            managers.0.insert(bucket.clone(), first);
        }
        managers.0.remove(&id);
        if let Some(merged) = managers.0.get_mut(&bucket) {
            merged.fields = std::mem::take(&mut merged.fields).union(owned.fields);
            // The time of the newer entry.
            merged.time = owned.time;
            count -= 1;
        }
    }
}
