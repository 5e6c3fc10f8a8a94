//! The field owners of an object, as recorded in `metadata.managedFields`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::field_set::{FieldSet, PathElement, path_text};
use super::typed::Comparison;
use crate::golang;
use crate::status::Status;

/// Identifies an entry. An applier has one entry for all versions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ManagerId {
    pub(super) manager: String,
    pub(super) operation: Operation,
    /// Empty for appliers.
    api_version: String,
    pub(super) subresource: String,
}

/// How a manager writes. The order of variants is that of the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

impl ManagerId {
    pub(super) fn new(
        manager: &str,
        operation: Operation,
        api_version: &str,
        subresource: &str,
    ) -> ManagerId {
        ManagerId {
            manager: if manager.is_empty() { "unknown" } else { manager }.to_owned(),
            operation,
            api_version: match operation {
                Operation::Apply => String::new(),
                Operation::Update => api_version.to_owned(),
            },
            subresource: subresource.to_owned(),
        }
    }

    /// Formats the manager for conflicts.
    fn shown(&self) -> String {
        let mut out = golang::quoted(&self.manager);
        if !self.subresource.is_empty() {
            out += " with subresource ";
            out += &golang::quoted(&self.subresource);
        }
        if self.operation == Operation::Update {
            out += " using ";
            out += &self.api_version;
        }
        out
    }
}

/// The fields that a manager owns.
#[derive(Debug, Clone)]
pub(super) struct Owned {
    pub(super) fields: FieldSet,
    pub(super) api_version: String,
    /// When the manager last changed the object; `None` if it only applied existing values.
    pub(super) time: Option<String>,
}

/// A field that an applier changes although another manager owns it.
#[derive(Debug, Clone)]
pub(super) struct Conflict {
    pub(super) manager: ManagerId,
    pub(super) path: Vec<PathElement>,
}

/// All managers of an object.
#[derive(Debug, Clone, Default)]
pub(super) struct Managers(pub(super) BTreeMap<ManagerId, Owned>);

/// Formats a time for entries, in seconds.
pub(super) fn stamp(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(super) fn seconds(time: Option<&String>) -> i64 {
    let parsed = time.and_then(|t| t.parse::<Timestamp>().ok());
    parsed.map_or(0, Timestamp::as_second)
}

impl Managers {
    /// Decodes the entries of an object.
    pub(super) fn of(object: &Value) -> Result<Managers, String> {
        let mut managers = BTreeMap::new();
        let entries = object["metadata"]["managedFields"]
            .as_array()
            .into_iter()
            .flatten();
        for (index, entry) in entries.enumerate() {
            let text = |name: &str| entry[name].as_str().unwrap_or_default();
            let operation = match text("operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return Err("operation must be `Apply` or `Update`".into()),
            };
            if text("apiVersion").is_empty() {
                return Err("apiVersion must not be empty".into());
            }
            match text("fieldsType") {
                "FieldsV1" => {}
                "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
                other => {
                    let other = golang::quoted(other);
                    return Err(format!(
                        "invalid fieldsType {other} in managed fields entry {index}"
                    ));
                }
            }
            let fields = FieldSet::from_json(&entry["fieldsV1"])
                .map_err(|e| format!("error decoding versioned set: error decoding set: {e}"))?;
            let id = ManagerId {
                manager: text("manager").to_owned(),
                ..ManagerId::new("", operation, text("apiVersion"), text("subresource"))
            };
            let owned = Owned {
                fields,
                api_version: text("apiVersion").to_owned(),
                time: entry["time"].as_str().map(str::to_owned),
            };
            managers.insert(id, owned);
        }
        Ok(Managers(managers))
    }

    /// Writes the entries to an object, in the order of the API server.
    pub(super) fn write_to(self, object: &mut Value) {
        if self.0.is_empty() {
            remove_entries(object);
            return;
        }
        let Some(object) = object.as_object_mut() else {
            return;
        };
        let metadata = object.entry("metadata").or_insert(Value::Null);
        if metadata.is_null() {
            *metadata = json!({});
        }
        let Some(metadata) = metadata.as_object_mut() else {
            return;
        };
        let mut entries: Vec<(ManagerId, Owned)> = self.0.into_iter().collect();
        entries.sort_by(|(a, x), (b, y)| {
            (
                a.operation,
                seconds(x.time.as_ref()),
                &a.manager,
                &x.api_version,
                &a.subresource,
            )
                .cmp(&(
                    b.operation,
                    seconds(y.time.as_ref()),
                    &b.manager,
                    &y.api_version,
                    &b.subresource,
                ))
        });
        let entries = entries
            .into_iter()
            .map(|(id, owned)| entry(&id, &owned))
            .collect();
        metadata.insert("managedFields".into(), Value::Array(entries));
    }

    /// Removes the changed fields from all managers except `writer`.
    ///
    /// # Errors
    /// Returns the added and modified fields that other managers own, unless `force` is set. Removed fields do not
    /// conflict.
    pub(super) fn release(
        &mut self,
        changes: &Comparison,
        writer: &ManagerId,
        force: bool,
    ) -> Result<(), Vec<Conflict>> {
        if !force {
            let mut conflicts = Vec::new();
            for (id, owned) in self.0.iter().filter(|(id, _)| *id != writer) {
                let modified = owned.fields.intersection(&changes.modified);
                let lost = modified.union(owned.fields.intersection(&changes.added));
                conflicts.extend(lost.paths().into_iter().map(|path| Conflict {
                    manager: id.clone(),
                    path,
                }));
            }
            if !conflicts.is_empty() {
                return Err(conflicts);
            }
        }
        for (_, owned) in self.0.iter_mut().filter(|(id, _)| *id != writer) {
            for changed in [&changes.modified, &changes.added, &changes.removed] {
                owned.fields = std::mem::take(&mut owned.fields).difference(changed);
            }
        }
        self.0.retain(|_, owned| !owned.fields.is_empty());
        Ok(())
    }

    /// Removes fields that cannot be owned from `id`.
    pub(super) fn strip(&mut self, id: &ManagerId) {
        if let Some(owned) = self.0.get_mut(id) {
            owned.fields = std::mem::take(&mut owned.fields).difference(&UNOWNED);
            if owned.fields.is_empty() {
                self.0.remove(id);
            }
        }
    }
}

/// Fields that identify an object or that the server writes. They cannot be owned.
static UNOWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_names(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

fn entry(id: &ManagerId, owned: &Owned) -> Value {
    let mut out = Map::new();
    let mut put = |name: &str, text: &str| {
        if !text.is_empty() {
            out.insert(name.to_owned(), text.into());
        }
    };
    put("manager", &id.manager);
    put("operation", id.operation.name());
    put("apiVersion", &owned.api_version);
    put("time", owned.time.as_deref().unwrap_or_default());
    put("fieldsType", "FieldsV1");
    put("subresource", &id.subresource);
    out.insert("fieldsV1".into(), owned.fields.to_json());
    Value::Object(out)
}

/// Removes the entries from an object, so that they are not compared and merged.
pub(super) fn remove_entries(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// Returns a copy of an object without its entries.
pub(super) fn without_entries(object: &Value) -> Value {
    let mut object = object.clone();
    remove_entries(&mut object);
    object
}

/// Returns the error of an apply request with conflicts.
pub(super) fn refuse(conflicts: &[Conflict]) -> Status {
    let message = match conflicts {
        [one] => format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            one.manager.shown(),
            path_text(&one.path)
        ),
        many => {
            let mut lines = Vec::new();
            let mut current = None;
            for conflict in many {
                if current != Some(&conflict.manager) {
                    lines.push(format!("conflicts with {}:", conflict.manager.shown()));
                    current = Some(&conflict.manager);
                }
                lines.push(format!("- {}", path_text(&conflict.path)));
            }
            format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
        }
    };
    let status = Status::new(409, "Conflict", message);
    conflicts.iter().fold(status, |status, conflict| {
        let message = format!("conflict with {}", conflict.manager.shown());
        status.cause("FieldManagerConflict", &message, &path_text(&conflict.path))
    })
}

/// Returns whether a client resets the managers, with an empty list or one empty entry.
pub(super) fn asks_reset(object: &Value) -> bool {
    match object["metadata"]["managedFields"].as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([one]) => *one == json!({}),
        _ => false,
    }
}
