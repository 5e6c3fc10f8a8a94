//! The status of definitions, as written by the server's controllers.

use serde_json::{Map, Value, json};

use super::structure::Schema;

/// Returns the status of a new definition, before controllers process it.
pub(crate) fn initial_status(crd: &Value) -> Value {
    let stored: Vec<&str> = storage_version(crd).into_iter().collect();
    json!({
        "conditions": null,
        "acceptedNames": { "plural": "", "kind": "" },
        "storedVersions": stored,
    })
}

/// Returns the status of a definition that replaces `old`: the old one, and the storage version in its stored versions.
pub(crate) fn updated_status(crd: &Value, old: &Value) -> Value {
    let mut status = old["status"].clone();
    if !status.is_object() {
        return initial_status(crd);
    }
    if let (Some(storage), Some(stored)) = (storage_version(crd), status["storedVersions"].as_array_mut())
        && !stored.iter().any(|v| v == storage)
    {
        stored.push(storage.into());
    }
    status
}

fn storage_version(crd: &Value) -> Option<&str> {
    let versions = crd["spec"]["versions"].as_array()?;
    versions.iter().find(|v| v["storage"] == true)?["name"].as_str()
}

/// Returns whether a definition's kind is served.
pub(crate) fn is_established(crd: &Value) -> bool {
    condition(&crd["status"], "Established").is_some_and(|c| c["status"] == "True")
}

fn condition<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    status["conditions"]
        .as_array()?
        .iter()
        .find(|c| c["type"] == kind)
}

/// Returns the status of a definition after its names were compared with those of all others, at the time `now`.
///
/// Accepted names stay accepted. A definition without conflicts is established. `others` may contain the definition
/// itself and definitions of other groups, which are ignored.
pub(crate) fn established_status<'a>(
    crd: &Value,
    others: impl IntoIterator<Item = &'a Value>,
    now: &str,
) -> Value {
    let reserved = ReservedNames::of(crd, others);
    let (names, conflict) = reserved.accept(crd);
    let mut status = crd["status"].clone();
    if !status.is_object() {
        status = initial_status(crd);
    }
    status["acceptedNames"] = names;
    let verdict = match conflict {
        None => ("True", "NoConflicts", "no conflicts found".to_owned()),
        Some((reason, message)) => ("False", reason, message),
    };
    let accepted = verdict.0 == "True";
    set_condition(&mut status, "NamesAccepted", verdict, now);
    let established = condition(&status, "Established").is_some_and(|c| c["status"] == "True");
    if accepted && !established {
        let message = "the initial names have been accepted".to_owned();
        set_condition(
            &mut status,
            "Established",
            ("True", "InitialNamesAccepted", message),
            now,
        );
    } else if !accepted && condition(&status, "Established").is_none() {
        let message = "not all names are accepted".to_owned();
        set_condition(&mut status, "Established", ("False", "NotAccepted", message), now);
    }
    status
}

/// Sets a condition. Its time changes only with its status.
fn set_condition(status: &mut Value, kind: &str, to: (&str, &str, String), now: &str) {
    let (value, reason, message) = to;
    let since = condition(status, kind)
        .filter(|c| c["status"] == value)
        .and_then(|c| c["lastTransitionTime"].as_str())
        .unwrap_or(now);
    let new = json!({
        "type": kind,
        "status": value,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    });
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    if let Some(conditions) = status["conditions"].as_array_mut() {
        match conditions.iter_mut().find(|c| c["type"] == kind) {
            Some(known) => *known = new,
            None => conditions.push(new),
        }
    }
}

/// Accepted names of other definitions in the group.
#[derive(Default)]
struct ReservedNames {
    resources: Vec<String>,
    kinds: Vec<String>,
}

impl ReservedNames {
    fn of<'a>(crd: &Value, others: impl IntoIterator<Item = &'a Value>) -> ReservedNames {
        let mut reserved = ReservedNames::default();
        for other in others {
            let is_other = other["metadata"]["name"] != crd["metadata"]["name"];
            if is_other && other["spec"]["group"] == crd["spec"]["group"] {
                let names = Schema(&other["status"]["acceptedNames"]);
                let own = [names.text("plural"), names.text("singular")];
                reserved.resources.extend(own.iter().map(ToString::to_string));
                reserved
                    .resources
                    .extend(names.texts("shortNames").map(str::to_owned));
                let kinds = [names.text("kind"), names.text("listKind")];
                reserved.kinds.extend(kinds.iter().map(ToString::to_string));
            }
        }
        reserved
    }

    /// Returns the names that can be accepted, and the last conflict, if any.
    fn accept(&self, crd: &Value) -> (Value, Option<(&'static str, String)>) {
        let wanted = Schema(&crd["spec"]["names"]);
        let held = Schema(&crd["status"]["acceptedNames"]);
        let mut names: Map<String, Value> = held.0.as_object().cloned().unwrap_or_default();
        names.entry("plural").or_insert_with(|| "".into());
        names.entry("kind").or_insert_with(|| "".into());
        let mut conflict = None;
        let in_use = |name: &str| format!("{name:?} is already in use");
        let mut single = |key: &'static str, used: &[String], reason, conflict: &mut Option<_>| {
            let name = wanted.text(key);
            if name != held.text(key) && used.iter().any(|u| u == name) {
                *conflict = Some((reason, in_use(name)));
            } else if !name.is_empty() {
                names.insert(key.into(), name.into());
            }
        };
        single("plural", &self.resources, "PluralConflict", &mut conflict);
        single("singular", &self.resources, "SingularConflict", &mut conflict);
        let clashes: Vec<String> = wanted
            .texts("shortNames")
            .filter(|name| !held.texts("shortNames").any(|h| h == *name))
            .filter(|name| self.resources.iter().any(|used| used == name))
            .map(in_use)
            .collect();
        if !clashes.is_empty() {
            let message = match clashes.as_slice() {
                [one] => one.clone(),
                several => format!("[{}]", several.join(", ")),
            };
            conflict = Some(("ShortNamesConflict", message));
        }
        single("kind", &self.kinds, "KindConflict", &mut conflict);
        single("listKind", &self.kinds, "ListKindConflict", &mut conflict);
        let lists = if clashes.is_empty() {
            &["shortNames", "categories"][..]
        } else {
            &["categories"]
        };
        for key in lists {
            names.remove(*key);
            if let Some(list) = wanted.get(key) {
                names.insert((*key).into(), list.clone());
            }
        }
        (names.into(), conflict)
    }
}

/// Sets the conditions of a definition whose deletion begins.
pub(crate) fn terminate(definition: &mut Value, now: &str) {
    let condition = json!({
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    });
    match definition["status"]
        .get_mut("conditions")
        .and_then(Value::as_array_mut)
    {
        Some(conditions) => conditions.push(condition),
        None => definition["status"]["conditions"] = json!([condition]),
    }
}
