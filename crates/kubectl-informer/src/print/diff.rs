//! What changed between two states of an object, field by field and short.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::colour::{Colour, Paint};
use super::table::on_one_line;

/// A value is shown up to so many characters.
const LONGEST: usize = 60;

/// Fields of a list's elements by which Kubernetes tells them apart, the best first.
const NAMES: [&str; 12] = [
    "name",
    "type",
    "key",
    "ip",
    "uid",
    "mountPath",
    "devicePath",
    "containerPort",
    "port",
    "topologyKey",
    "path",
    "hostname",
];

/// What the last `kubectl apply` sent: the whole object once more, also what is secret in it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Where, as in `status.conditions[Ready].status`.
    path: String,
    change: Change,
    weight: Weight,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    /// Both values as text; none where there was nothing.
    Shown {
        old: Option<String>,
        new: Option<String>,
    },
    /// What happened is told, the values are not.
    Hidden(&'static str),
}

/// What a reader looks for comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Spec,
    Status,
    Other,
    Metadata,
    /// Times and counters that go with every other change.
    Noise,
}

/// The fields in which two states of an object differ, the most telling first. The version and who manages which field are
/// no differences, and the values of a Secret are not told.
pub(crate) fn differences(old: &Value, new: &Value, is_secret: bool) -> Vec<Difference> {
    let mut found = Finder {
        is_secret,
        found: Vec::new(),
    };
    found.compare("", Some(old), Some(new));
    let depth = |path: &str| path.matches(['.', '[']).count();
    found
        .found
        .sort_by_key(|difference| (difference.weight, depth(&difference.path)));
    found.found
}

impl Difference {
    /// One line: `status.phase: Pending → Running`.
    pub(crate) fn line(&self, paint: Paint) -> String {
        let path = paint.paint(Colour::Faint, &format!("{}:", self.path));
        match &self.change {
            Change::Hidden(what) => format!("{path} {what}"),
            Change::Shown { old, new } => {
                let side = |value: &Option<String>, colour| match value {
                    Some(text) => paint.paint(colour, text),
                    None => paint.paint(Colour::Faint, "<none>"),
                };
                let (old, new) = (side(old, Colour::Deleted), side(new, Colour::Added));
                format!("{path} {old} → {new}")
            }
        }
    }
}

struct Finder {
    is_secret: bool,
    found: Vec<Difference>,
}

impl Finder {
    fn compare(&mut self, path: &str, old: Option<&Value>, new: Option<&Value>) {
        if old == new || is_left_out(path) {
            return;
        }
        if self.is_hidden(path) {
            self.hidden(path, old, new);
            return;
        }
        match (old, new) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => self.compare_fields(path, old, new),
            // Field by field, so that none of its values is told.
            (None, Some(Value::Object(new))) if self.holds_hidden(path) => {
                self.compare_fields(path, &Map::new(), new);
            }
            (Some(Value::Object(old)), None) if self.holds_hidden(path) => {
                self.compare_fields(path, old, &Map::new());
            }
            (Some(Value::Array(old)), Some(Value::Array(new))) => self.compare_elements(path, old, new),
            (None, Some(Value::Array(new))) if telling_field(&[], new).is_some() => {
                self.compare_elements(path, &[], new);
            }
            (Some(Value::Array(old)), None) if telling_field(old, &[]).is_some() => {
                self.compare_elements(path, old, &[]);
            }
            _ => self.shown(path, old, new),
        }
    }

    fn compare_fields(&mut self, path: &str, old: &Map<String, Value>, new: &Map<String, Value>) {
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            self.compare(&within(path, name), old.get(name), new.get(name));
        }
    }

    fn compare_elements(&mut self, path: &str, old: &[Value], new: &[Value]) {
        if let Some(field) = telling_field(old, new) {
            let mut seen = BTreeSet::new();
            for name in old.iter().chain(new).map(|element| name_of(element, field)) {
                if seen.insert(name.clone()) {
                    let is_it = |element: &&Value| name_of(element, field) == name;
                    let (old, new) = (old.iter().find(is_it), new.iter().find(is_it));
                    self.compare(&format!("{path}[{name}]"), old, new);
                }
            }
        } else if old
            .iter()
            .chain(new)
            .any(|element| element.is_object() || element.is_array())
        {
            for place in 0..old.len().max(new.len()) {
                self.compare(&format!("{path}[{place}]"), old.get(place), new.get(place));
            }
        } else {
            // Of a list of words, one that was put in at the front would change all places after it.
            self.shown(path, Some(&old.into()), Some(&new.into()));
        }
    }

    fn shown(&mut self, path: &str, old: Option<&Value>, new: Option<&Value>) {
        let change = Change::Shown {
            old: old.map(short),
            new: new.map(short),
        };
        self.add(path, change);
    }

    fn hidden(&mut self, path: &str, old: Option<&Value>, new: Option<&Value>) {
        self.add(
            path,
            Change::Hidden(match (old, new) {
                (None, _) => "added",
                (_, None) => "removed",
                _ => "changed",
            }),
        );
    }

    fn add(&mut self, path: &str, change: Change) {
        self.found.push(Difference {
            path: path.chars().map(on_one_line).collect(),
            change,
            weight: Weight::of(path),
        });
    }

    /// Whether the value at the path is told to nobody.
    fn is_hidden(&self, path: &str) -> bool {
        let secret = ["data", "stringData"].iter().any(|part| {
            path.strip_prefix(part)
                .is_some_and(|rest| rest.starts_with(['.', '[']))
        });
        (self.is_secret && secret) || path == within("metadata.annotations", LAST_APPLIED)
    }

    /// Whether something hidden is below the path.
    fn holds_hidden(&self, path: &str) -> bool {
        path == "metadata.annotations" || (self.is_secret && matches!(path, "data" | "stringData"))
    }
}

/// What changes with every change, and says nothing.
fn is_left_out(path: &str) -> bool {
    matches!(
        path,
        "metadata.resourceVersion" | "metadata.managedFields" | "metadata.generation"
    )
}

fn within(path: &str, name: &str) -> String {
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    match (path, plain) {
        ("", _) => name.to_owned(),
        (path, true) => format!("{path}.{name}"),
        (path, false) => format!("{path}[{name}]"),
    }
}

/// The field that tells all elements of both lists apart, if there is one.
fn telling_field(old: &[Value], new: &[Value]) -> Option<&'static str> {
    let tells = |elements: &[Value], field: &str| {
        let mut seen = BTreeSet::new();
        elements.iter().all(|element| {
            let plain = matches!(element[field], Value::String(_) | Value::Number(_));
            plain && seen.insert(name_of(element, field))
        })
    };
    NAMES
        .into_iter()
        .find(|field| tells(old, field) && tells(new, field))
}

fn name_of(element: &Value, field: &str) -> String {
    match &element[field] {
        Value::String(name) => name.clone(),
        other => other.to_string(),
    }
}

/// A value on one line, and not much of it. Of a condition, what counts is whether it holds.
fn short(value: &Value) -> String {
    let text = match value {
        Value::Object(fields) if fields.contains_key("type") && fields["type"].is_string() => {
            match fields.get("status") {
                Some(Value::String(status)) => status.clone(),
                _ => value.to_string(),
            }
        }
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut one_line = text.chars().map(on_one_line);
    let mut shown: String = one_line.by_ref().take(LONGEST).collect();
    if one_line.next().is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

impl Weight {
    fn of(path: &str) -> Weight {
        let last = path.rsplit('.').next().unwrap_or_default();
        let noisy = last.ends_with("Time") || last.ends_with("Timestamp") || last == "observedGeneration";
        if noisy && last != "deletionTimestamp" {
            return Weight::Noise;
        }
        match path.split(['.', '[']).next() {
            Some("spec") => Weight::Spec,
            Some("status") => Weight::Status,
            Some("metadata") if last != "deletionTimestamp" => Weight::Metadata,
            _ => Weight::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Paint, differences};

    fn lines(old: &Value, new: &Value) -> Vec<String> {
        told(old, new, false)
    }

    fn told(old: &Value, new: &Value, is_secret: bool) -> Vec<String> {
        let found = differences(old, new, is_secret);
        found
            .iter()
            .map(|difference| difference.line(Paint::plain()))
            .collect()
    }

    #[test]
    fn a_field_is_told_with_both_its_values() {
        let old = json!({ "status": { "phase": "Pending" } });
        let new = json!({ "status": { "phase": "Running" }, "spec": { "nodeName": "north" } });
        assert_eq!(
            lines(&old, &new),
            [
                "spec: <none> → {\"nodeName\":\"north\"}",
                "status.phase: Pending → Running"
            ]
        );
    }

    #[test]
    fn versions_and_managers_are_no_differences() {
        let old = json!({ "metadata": { "resourceVersion": "1", "generation": 1, "managedFields": [] } });
        let new = json!({ "metadata": { "resourceVersion": "2", "generation": 2, "managedFields": [{}] } });
        assert!(lines(&old, &new).is_empty());
    }

    #[test]
    fn elements_are_told_by_their_names() {
        let old = json!({ "spec": { "containers": [{ "name": "web", "image": "a:1" }, { "name": "log", "image": "l" }] } });
        let new = json!({ "spec": { "containers": [{ "name": "log", "image": "l" }, { "name": "web", "image": "a:2" }] } });
        assert_eq!(lines(&old, &new), ["spec.containers[web].image: a:1 → a:2"]);

        let old = json!({ "status": { "conditions": [{ "type": "Ready", "status": "False", "reason": "Starting" }] } });
        let new = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
        assert_eq!(
            lines(&old, &new),
            [
                "status.conditions[Ready].reason: Starting → <none>",
                "status.conditions[Ready].status: False → True"
            ]
        );
    }

    #[test]
    fn a_condition_that_comes_is_told_by_whether_it_holds() {
        let old = json!({ "status": { "phase": "Pending" } });
        let new = json!({ "status": {
            "conditions": [{ "type": "Ready", "status": "True", "lastProbeTime": null }], "phase": "Running",
        } });
        assert_eq!(
            lines(&old, &new),
            [
                "status.phase: Pending → Running",
                "status.conditions[Ready]: <none> → True"
            ]
        );
        assert_eq!(
            lines(&new, &old),
            [
                "status.phase: Running → Pending",
                "status.conditions[Ready]: True → <none>"
            ]
        );
    }

    #[test]
    fn elements_without_names_are_told_by_their_places() {
        let old = json!({ "rules": [{ "verbs": ["get"] }, { "verbs": ["list"] }] });
        let new = json!({ "rules": [{ "verbs": ["get"] }, { "verbs": ["list", "watch"] }] });
        assert_eq!(
            lines(&old, &new),
            ["rules[1].verbs: [\"list\"] → [\"list\",\"watch\"]"]
        );
    }

    #[test]
    fn names_with_dots_stand_in_brackets() {
        let old = json!({ "metadata": { "labels": { "app.kubernetes.io/name": "a" } } });
        let new = json!({ "metadata": { "labels": { "app.kubernetes.io/name": "b" } } });
        assert_eq!(
            lines(&old, &new),
            ["metadata.labels[app.kubernetes.io/name]: a → b"]
        );
    }

    #[test]
    fn long_values_are_shortened_to_one_line() {
        let old = json!({ "data": { "text": "short" } });
        let new = json!({ "data": { "text": format!("two\nlines {}", "x".repeat(100)) } });
        let line = &lines(&old, &new)[0];
        assert!(line.starts_with("data.text: short → two lines xxx"), "{line}");
        assert!(line.ends_with("x…") && line.chars().count() < 90, "{line}");
    }

    #[test]
    fn what_a_secret_holds_is_never_told() {
        let empty = json!({ "metadata": { "name": "s" } });
        let full = json!({
            "metadata": { "name": "s", "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{\"data\":{\"password\":\"aHVudGVyMg==\"}}",
            } },
            "data": { "password": "aHVudGVyMg==", "tls.crt": "aHVudGVyMg==" },
            "stringData": { "word": "hunter2" },
        });
        let mut other = full.clone();
        other["data"]["password"] = json!("aHVudGVyMw==");
        assert_eq!(told(&full, &other, true), ["data.password: changed"]);
        for (old, new) in [(&empty, &full), (&full, &empty), (&full, &other)] {
            let told = told(old, new, true).join("\n");
            assert!(!told.contains("aHVudGVy") && !told.contains("hunter2"), "{told}");
        }
        assert!(told(&empty, &full, true).contains(&"data[tls.crt]: added".to_owned()));
    }

    #[test]
    fn times_come_last() {
        let old =
            json!({ "metadata": { "labels": { "a": "1" } }, "status": { "lastProbeTime": "x", "ready": 1 } });
        let new =
            json!({ "metadata": { "labels": { "a": "2" } }, "status": { "lastProbeTime": "y", "ready": 2 } });
        assert_eq!(
            lines(&old, &new),
            [
                "status.ready: 1 → 2",
                "metadata.labels.a: 1 → 2",
                "status.lastProbeTime: x → y"
            ]
        );
    }
}
