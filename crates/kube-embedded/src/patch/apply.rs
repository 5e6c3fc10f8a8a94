//! Server-side apply: a client sends all it wants of an object, and the server works out what changes.
//!
//! The configuration is laid over the live object. Fields that this manager applied before and leaves out now go away,
//! unless someone else owns them. Where others own a field and want another value, it is a conflict.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::field_set::{FieldSet, equal_values};
use super::last_applied;
use super::managers::{Conflict, ManagerId, Managers, Operation, Owned, refuse, stamp, without_entries};
use super::typed::{self, Emptied, Repeats, Site};
use super::update;
use crate::schema::{Type, Types};
use crate::status::{Result, Status};

/// An apply request and what it meets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Apply<'a> {
    pub(crate) types: &'a Types,
    pub(crate) ty: &'a Type,
    /// The endpoint's version, such as `apps/v1`, and kind.
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
    /// The object as it is; `None` creates it.
    pub(crate) live: Option<&'a Value>,
    /// What the client sent.
    pub(crate) config: &'a Value,
    pub(crate) manager: &'a str,
    pub(crate) force: bool,
    /// Empty for the object itself.
    pub(crate) subresource: &'a str,
    /// Fields that this endpoint does not write, such as `status`; nobody comes to own them through it.
    pub(crate) reset: &'a FieldSet,
    pub(crate) now: Timestamp,
}

/// Why an attempt failed.
enum Failure {
    Conflicts(Vec<Conflict>),
    Other(Status),
}

impl From<Status> for Failure {
    fn from(status: Status) -> Failure {
        Failure::Other(status)
    }
}

/// Applies the configuration. The result has not been defaulted, and may hold a `null` where the configuration does. If
/// the configuration asks for nothing new, it is the live object, save for who owns what.
pub(crate) fn apply(request: Apply<'_>) -> Result<Value> {
    let live = request.live.map(without_entries);
    let managers = request.live.map_or(Ok(Managers::default()), Managers::of);
    let managers = managers.map_err(|e| Status::unnamed(format!("failed to decode managed fields: {e}")))?;
    request.check_type()?;
    let attempt = request.attempt(live.as_ref(), managers.clone(), request.force);
    let outcome = match attempt {
        Err(Failure::Conflicts(conflicts)) if request.manager == "kubectl" => {
            let allowed = live.as_ref().and_then(|live| {
                let site = Site::root(request.types, request.ty);
                last_applied::uncontested(site, live, request.api_version)
            });
            match allowed {
                Some(allowed) => {
                    let left: Vec<Conflict> =
                        conflicts.into_iter().filter(|c| !allowed.has(&c.path)).collect();
                    if left.is_empty() {
                        request.attempt(live.as_ref(), managers, true)
                    } else {
                        Err(Failure::Conflicts(left))
                    }
                }
                None => Err(Failure::Conflicts(conflicts)),
            }
        }
        other => other,
    };
    let (mut object, managers) = outcome.map_err(|failure| match failure {
        Failure::Conflicts(conflicts) => refuse(&conflicts),
        Failure::Other(status) => status,
    })?;
    if request.manager == "kubectl" {
        last_applied::refresh(&mut object, request.config);
    }
    managers.write_to(&mut object);
    Ok(object)
}

/// Group, version and kind as Go prints them.
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
    ) -> std::result::Result<(Value, Managers), Failure> {
        let site = Site::root(self.types, self.ty);
        if let (Some(live), true) = (live, managers.0.is_empty()) {
            // Nobody kept books so far: what is there belongs to an unnamed past.
            let past = ManagerId::new(
                "before-first-apply",
                Operation::Update,
                self.api_version,
                self.subresource,
            );
            let blank = typed::blank(self.types, self.ty);
            let past_update = update::Change {
                site,
                reset: self.reset,
                api_version: self.api_version,
                now: self.now,
            };
            past_update.record(&blank, live, &mut managers, &past);
        }
        if self.config["metadata"]["managedFields"].is_array() {
            return Err(Status::bad_request("metadata.managedFields must be nil").into());
        }
        self.check(site, self.config, Repeats::Refused, "patch")?;
        if let Some(live) = live {
            self.check(site, live, Repeats::Allowed, "live")?;
        }

        let id = ManagerId::new(self.manager, Operation::Apply, self.api_version, self.subresource);
        let absent = json!({});
        let base = live.unwrap_or(&absent);
        let merged = typed::merge(site, base, self.config);
        let fields = typed::field_set(site, self.config).recursive_difference(self.reset);
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
            Some(last) => abandoned(site, &merged, &managers, last.fields),
            None => FieldSet::default(),
        };
        let without = |emptied| {
            if gone.is_empty() {
                merged.clone()
            } else {
                typed::remove(site, &merged, &gone, emptied)
            }
        };
        let changes = typed::compare(site, base, &without(Emptied::Null)).without(self.reset);
        managers
            .release(&changes, &id, force)
            .map_err(Failure::Conflicts)?;
        managers.strip(&id);
        // Go's structs drop a `null`; a custom resource keeps it, and its schema may refuse it.
        let object = without(if self.types.is_builtin() {
            Emptied::Gone
        } else {
            Emptied::Null
        });
        if live.is_some_and(|live| equal_values(live, &object)) {
            return Ok((base.clone(), managers));
        }
        if let Some(owned) = managers.0.get_mut(&id) {
            owned.time = Some(stamp(self.now));
        }
        Ok((object, managers))
    }

    fn check(&self, site: Site<'_>, object: &Value, repeats: Repeats, which: &str) -> Result<()> {
        typed::validate(site, object, repeats).map_err(|fault| {
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

/// Which fields of `merged` go: what the manager applied last time (`last`) and does not apply any more, unless someone
/// owns it.
fn abandoned(site: Site<'_>, merged: &Value, managers: &Managers, last: FieldSet) -> FieldSet {
    let named = |set: FieldSet| typed::with_named_parents(Some(site), set);
    let mentioned = |object: &Value| named(typed::field_set(site, object));
    let last = named(last);
    let all = mentioned(merged);
    let owned = managers
        .0
        .values()
        .fold(FieldSet::default(), |all, m| all.union(m.fields.clone()));

    let pruned = typed::remove(site, merged, &last, Emptied::Null);
    let kept = mentioned(&pruned).union(named(owned));
    let pruned = typed::remove(site, merged, &all.clone().difference(&kept), Emptied::Null);
    // Only what the manager owned goes; what lies within and was never owned stays.
    all.difference(&mentioned(&pruned)).intersection(&last)
}
