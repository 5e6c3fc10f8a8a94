//! Server-side apply: merges a configuration into the live object.
//!
//! Fields that the manager applied before and that are not in the configuration are removed, unless other managers own
//! them. Applying another value to a field that others own is a conflict.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::field_set::{FieldSet, equal_values};
use super::last_applied;
use super::managers::{Conflict, ManagerId, Managers, Operation, Owned, refuse, stamp, without_entries};
use super::typed::{self, Duplicates, EmptyContainer, SchemaNode};
use super::update;
use crate::schema::{Type, Types};
use crate::status::{Result, Status};

/// An apply request, and the object that it changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Apply<'a> {
    pub(crate) types: &'a Types,
    pub(crate) ty: &'a Type,
    /// Version of the endpoint, for example `apps/v1`.
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
    /// The live object; `None` to create it.
    pub(crate) live: Option<&'a Value>,
    /// The configuration.
    pub(crate) config: &'a Value,
    pub(crate) manager: &'a str,
    pub(crate) force: bool,
    /// Empty for the object itself.
    pub(crate) subresource: &'a str,
    /// Fields that this endpoint does not write, such as `status`. Its requests do not own them.
    pub(crate) reset: &'a FieldSet,
    pub(crate) now: Timestamp,
}

/// Why an apply request failed.
enum ApplyError {
    Conflicts(Vec<Conflict>),
    Other(Status),
}

impl From<Status> for ApplyError {
    fn from(status: Status) -> ApplyError {
        ApplyError::Other(status)
    }
}

/// Applies the configuration. The result has no defaults, and may contain a `null` of the configuration.
///
/// If the configuration changes nothing, the result is the live object, except for its managers.
pub(crate) fn apply(request: Apply<'_>) -> Result<Value> {
    let live = request.live.map(without_entries);
    let managers = request.live.map_or(Ok(Managers::default()), Managers::of);
    let managers = managers.map_err(|e| Status::unnamed(format!("failed to decode managed fields: {e}")))?;
    request.check_type()?;
    let attempt = request.attempt(live.as_ref(), managers.clone(), request.force);
    let outcome = match attempt {
        Err(ApplyError::Conflicts(conflicts)) if request.manager == "kubectl" => {
            let allowed = live.as_ref().and_then(|live| {
                let node = SchemaNode::root(request.types, request.ty);
                last_applied::unchanged_fields(node, live, request.api_version)
            });
            match allowed {
                Some(allowed) => {
                    let left: Vec<Conflict> =
                        conflicts.into_iter().filter(|c| !allowed.has(&c.path)).collect();
                    if left.is_empty() {
                        request.attempt(live.as_ref(), managers, true)
                    } else {
                        Err(ApplyError::Conflicts(left))
                    }
                }
                None => Err(ApplyError::Conflicts(conflicts)),
            }
        }
        other => other,
    };
    let (mut object, managers) = outcome.map_err(|failure| match failure {
        ApplyError::Conflicts(conflicts) => refuse(&conflicts),
        ApplyError::Other(status) => status,
    })?;
    if request.manager == "kubectl" {
        last_applied::update(&mut object, request.config);
    }
    managers.write_to(&mut object);
    Ok(object)
}

/// Formats group, version and kind like Go.
fn type_text(api_version: &str, kind: &str) -> String {
    match api_version.matches('/').count() {
        0 => format!("/{api_version}, Kind={kind}"),
        1 => format!("{api_version}, Kind={kind}"),
        _ => format!("/, Kind={kind}"),
    }
}

impl Apply<'_> {
    fn check_type(&self) -> Result<()> {
        let text = |name: &str| self.config[name].as_str().unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if (api_version, kind) == (self.api_version, self.kind) {
            return Ok(());
        }
        let shown = type_text(api_version, kind);
        Err(Status::bad_request(format!("invalid object type: {shown}")))
    }

    fn attempt(
        &self,
        live: Option<&Value>,
        mut managers: Managers,
        force: bool,
    ) -> std::result::Result<(Value, Managers), ApplyError> {
        let node = SchemaNode::root(self.types, self.ty);
        if let (Some(live), true) = (live, managers.0.is_empty()) {
            // All existing fields get a manager, because none was recorded before.
            let initial = ManagerId::new(
                "before-first-apply",
                Operation::Update,
                self.api_version,
                self.subresource,
            );
            let blank = typed::blank(self.types, self.ty);
            let initial_update = update::Change {
                node,
                reset: self.reset,
                api_version: self.api_version,
                now: self.now,
            };
            initial_update.record(&blank, live, &mut managers, &initial);
        }
        if self.config["metadata"]["managedFields"].is_array() {
            return Err(Status::bad_request("metadata.managedFields must be nil").into());
        }
        self.check(node, self.config, Duplicates::Rejected, "patch")?;
        if let Some(live) = live {
            self.check(node, live, Duplicates::Allowed, "live")?;
        }

        let id = ManagerId::new(self.manager, Operation::Apply, self.api_version, self.subresource);
        let absent = json!({});
        let base = live.unwrap_or(&absent);
        let merged = typed::merge(node, base, self.config);
        let fields = typed::field_set(node, self.config).recursive_difference(self.reset);
        let last = managers.0.remove(&id);
        managers.0.insert(
            id.clone(),
            Owned {
                fields,
                api_version: self.api_version.to_owned(),
                time: last.as_ref().and_then(|l| l.time.clone()),
            },
        );
        let gone = match last {
            Some(last) => fields_to_remove(node, &merged, &managers, last.fields),
            None => FieldSet::default(),
        };
        let without = |emptied| {
            if gone.is_empty() {
                merged.clone()
            } else {
                typed::remove(node, &merged, &gone, emptied)
            }
        };
        let changes = typed::compare(node, base, &without(EmptyContainer::Null)).without(self.reset);
        managers
            .release(&changes, &id, force)
            .map_err(ApplyError::Conflicts)?;
        managers.strip(&id);
        // Go's structs drop `null`. Custom resources keep it, and their schema may reject it.
        let object = without(if self.types.is_builtin() {
            EmptyContainer::Removed
        } else {
            EmptyContainer::Null
        });
        if live.is_some_and(|live| equal_values(live, &object)) {
            return Ok((base.clone(), managers));
        }
        if let Some(owned) = managers.0.get_mut(&id) {
            owned.time = Some(stamp(self.now));
        }
        Ok((object, managers))
    }

    fn check(&self, node: SchemaNode<'_>, object: &Value, repeats: Duplicates, which: &str) -> Result<()> {
        typed::validate(node, object, repeats).map_err(|fault| {
            let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
            Status::unnamed(format!(
                "failed to create typed {which} object ({}/{}; {}): {fault}",
                text("namespace"),
                text("name"),
                type_text(self.api_version, self.kind)
            ))
        })
    }
}

/// Returns the fields of `merged` to remove: those that the manager only applied the last time (`last`), unless another
/// manager owns them.
fn fields_to_remove(node: SchemaNode<'_>, merged: &Value, managers: &Managers, last: FieldSet) -> FieldSet {
    let named = |set: FieldSet| typed::with_named_parents(Some(node), set);
    let mentioned = |object: &Value| named(typed::field_set(node, object));
    let last = named(last);
    let all = mentioned(merged);
    let owned = managers
        .0
        .values()
        .fold(FieldSet::default(), |all, m| all.union(m.fields.clone()));

    let pruned = typed::remove(node, merged, &last, EmptyContainer::Null);
    let kept = mentioned(&pruned).union(named(owned));
    let pruned = typed::remove(node, merged, &all.clone().difference(&kept), EmptyContainer::Null);
    // Nested fields that the manager did not own remain.
    all.difference(&mentioned(&pruned)).intersection(&last)
}
