//! Differences between two states of an object, field by field.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use kube_informer::WatchedResource;
use serde_json::{Map, Value};

use super::path::write_field;
use super::printed;
use super::redaction::Context;

/// Fields that are no differences: they change with every change, or repeat what other fields contain.
const IGNORED: [&str; 3] = [
    ".metadata.resourceVersion",
    ".metadata.managedFields",
    ".metadata.generation",
];

/// Fields by which Kubernetes identifies the elements of lists, in order of preference.
const IDENTIFIERS: [&str; 12] = [
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

/// A field in which two states of an object differ. See [`differences`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// Path of the field, for example `.status.conditions[Ready].status`. An element of a list is identified
    /// by its name, or by its index if it has no name. A path without elements is a
    /// [`FieldPath`](super::FieldPath).
    pub path: String,
    /// The old value, or `None` if the field did not exist.
    pub old: Option<Value>,
    /// The new value, or `None` if the field was removed.
    pub new: Option<Value>,
    /// Whether the values are hidden. Placeholders are equal for values of the same size.
    pub is_hidden: bool,
}

/// Returns the fields in which two states of an object differ, most relevant first.
///
/// The order is spec, status, other fields, metadata, and times.
///
/// The resource version, the generation and managed fields are ignored. Values of Secrets are hidden, also of
/// Secrets inside other objects, and so is the last applied configuration.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::WatchedResource;
/// use kube_informer_dashboard::fields::differences;
/// use serde_json::json;
///
/// let old = json!({ "status": { "conditions": [{ "type": "Ready", "status": "False" }] } });
/// let new = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
/// let found = differences(&WatchedResource::of::<Pod>(&(), []), &old, &new);
/// assert_eq!(found[0].path, ".status.conditions[Ready].status");
/// assert_eq!(found[0].new, Some("True".into()));
/// ```
#[must_use]
pub fn differences(resource: &WatchedResource, old: &Value, new: &Value) -> Vec<Difference> {
    Finder::find(Context::of(resource), old, new)
}

/// Compares objects that were [redacted](super::redact). Hidden values differ if their placeholders do.
pub(crate) fn differences_in_redacted(old: &Value, new: &Value) -> Vec<Difference> {
    Finder::find(Context::Redacted, old, new)
}

/// The relevance of a field, most relevant first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Spec,
    Status,
    Other,
    Metadata,
    /// Times and counters that change with every other change.
    Noise,
}

struct Finder {
    /// Path of the current field.
    path: String,
    found: Vec<Difference>,
}

impl Finder {
    fn find(context: Context, old: &Value, new: &Value) -> Vec<Difference> {
        let mut finder = Finder {
            path: String::new(),
            found: Vec::new(),
        };
        finder.compare(context, Some(old), Some(new));
        let mut found = finder.found;
        let depth = |path: &str| path.matches(['.', '[']).count();
        found.sort_by_cached_key(|difference| (Weight::of(&difference.path), depth(&difference.path)));
        found
    }

    fn compare(&mut self, context: Context, old: Option<&Value>, new: Option<&Value>) {
        if old == new || IGNORED.contains(&self.path.as_str()) {
            return;
        }
        let context = context.with(old).with(new);
        if context.hides(old) || context.hides(new) {
            self.add(context, old, new, true);
            return;
        }
        match (old, new) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => self.compare_fields(context, old, new),
            // Names of hidden fields are shown.
            (None, Some(Value::Object(new))) if context.has_hidden_fields() => {
                self.compare_fields(context, &Map::new(), new);
            }
            (Some(Value::Object(old)), None) if context.has_hidden_fields() => {
                self.compare_fields(context, old, &Map::new());
            }
            (Some(Value::Array(old)), Some(Value::Array(new))) => self.compare_elements(context, old, new),
            (None, Some(Value::Array(new))) if identifying_field(&[], new).is_some() => {
                self.compare_elements(context, &[], new);
            }
            (Some(Value::Array(old)), None) if identifying_field(old, &[]).is_some() => {
                self.compare_elements(context, old, &[]);
            }
            _ => self.add(context, old, new, false),
        }
    }

    fn compare_fields(&mut self, context: Context, old: &Map<String, Value>, new: &Map<String, Value>) {
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            if let Some(context) = context.field(name) {
                let before = self.path.len();
                write_field(&mut self.path, name).expect("writing to a string cannot fail");
                self.compare(context, old.get(name), new.get(name));
                self.path.truncate(before);
            }
        }
    }

    fn compare_elements(&mut self, context: Context, old: &[Value], new: &[Value]) {
        let is_plain = |element: &Value| !element.is_object() && !element.is_array();
        if let Some(field) = identifying_field(old, new) {
            let (olds, news) = (by_name(old, field), by_name(new, field));
            for element in old {
                let name = printed(&element[field]);
                self.compare_element(context, &name, Some(element), news.get(&name).copied());
            }
            for element in new {
                let name = printed(&element[field]);
                if !olds.contains_key(&name) {
                    self.compare_element(context, &name, None, Some(element));
                }
            }
        } else if old.iter().chain(new).all(is_plain) {
            // Inserting an element at the front would change all elements after it.
            self.add(context, Some(&old.into()), Some(&new.into()), false);
        } else {
            for at in 0..old.len().max(new.len()) {
                self.compare_element(context, &at.to_string(), old.get(at), new.get(at));
            }
        }
    }

    fn compare_element(&mut self, list: Context, name: &str, old: Option<&Value>, new: Option<&Value>) {
        let before = self.path.len();
        self.path.extend(["[", name, "]"]);
        self.compare(list.element(), old, new);
        self.path.truncate(before);
    }

    fn add(&mut self, context: Context, old: Option<&Value>, new: Option<&Value>, is_hidden: bool) {
        self.found.push(Difference {
            path: self.path.clone(),
            old: old.map(|value| context.redacted(value)),
            new: new.map(|value| context.redacted(value)),
            is_hidden,
        });
    }
}

/// Returns the field that identifies all elements of both lists, if there is one.
fn identifying_field(old: &[Value], new: &[Value]) -> Option<&'static str> {
    let identifies = |elements: &[Value], field: &str| {
        let is_name = |element: &Value| matches!(element[field], Value::String(_) | Value::Number(_));
        elements.iter().all(is_name) && by_name(elements, field).len() == elements.len()
    };
    // Names are shown, and any field of a Secret may contain a value.
    let is_secret = |element: &Value| Context::Open.with(Some(element)) == Context::Secret;
    if old.iter().chain(new).next().is_none() || old.iter().chain(new).any(is_secret) {
        return None;
    }
    IDENTIFIERS
        .into_iter()
        .find(|field| identifies(old, field) && identifies(new, field))
}

fn by_name<'a>(elements: &'a [Value], field: &str) -> BTreeMap<Cow<'a, str>, &'a Value> {
    let named = elements.iter().map(|element| (printed(&element[field]), element));
    named.collect()
}

impl Weight {
    fn of(path: &str) -> Weight {
        let last = path.rsplit('.').next().unwrap_or_default();
        let noisy = last.ends_with("Time") || last.ends_with("Timestamp") || last == "observedGeneration";
        if noisy && last != "deletionTimestamp" {
            return Weight::Noise;
        }
        match path.split(['.', '[']).nth(1) {
            Some("spec") => Weight::Spec,
            Some("status") => Weight::Status,
            Some("metadata") if last != "deletionTimestamp" => Weight::Metadata,
            _ => Weight::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Pod, Secret};
    use kube_informer::WatchedResource;
    use serde_json::{Value, json};

    use super::{Difference, differences, differences_in_redacted};

    fn lines(found: &[Difference]) -> Vec<String> {
        let side = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), ToString::to_string);
        let line = |found: &Difference| {
            let mark = if found.is_hidden { " (hidden)" } else { "" };
            format!("{} {} {}{mark}", found.path, side(&found.old), side(&found.new))
        };
        found.iter().map(line).collect()
    }

    fn pod_differences(old: &Value, new: &Value) -> Vec<String> {
        lines(&differences(&WatchedResource::of::<Pod>(&(), []), old, new))
    }

    fn secret_differences(old: &Value, new: &Value) -> Vec<String> {
        lines(&differences(&WatchedResource::of::<Secret>(&(), []), old, new))
    }

    #[test]
    fn shows_the_old_and_the_new_value_of_a_field() {
        let old = json!({ "status": { "phase": "Pending", "gone": [] }, "spec": { "same": [1] } });
        let new = json!({ "status": { "phase": "Running" }, "spec": { "same": [1], "nodes": { "n": 1 } } });
        assert_eq!(
            pod_differences(&old, &new),
            [
                r#".spec.nodes - {"n":1}"#,
                ".status.gone [] -",
                r#".status.phase "Pending" "Running""#
            ]
        );
    }

    #[test]
    fn versions_and_managed_fields_are_ignored() {
        let old = json!({ "metadata": { "resourceVersion": "1", "generation": 1, "managedFields": [] } });
        let new = json!({ "metadata": { "resourceVersion": "2", "generation": 2, "managedFields": [{}] } });
        assert!(pod_differences(&old, &new).is_empty());
        let wrap = |object: &Value| json!({ "spec": { "template": object } });
        assert_eq!(
            pod_differences(&wrap(&old), &wrap(&new)).len(),
            3,
            "outside of the metadata these names are ordinary fields"
        );
    }

    #[test]
    fn elements_are_identified_by_name() {
        let old = json!({ "spec": { "containers": [{ "name": "web", "image": "a:1" }, { "name": "log", "image": "l" }] } });
        let new = json!({ "spec": { "containers": [{ "name": "log", "image": "l" }, { "name": "web", "image": "a:2" }] } });
        assert_eq!(
            pod_differences(&old, &new),
            [r#".spec.containers[web].image "a:1" "a:2""#]
        );

        let old = json!({ "ports": [{ "port": 80, "to": "a" }, { "port": 443, "to": "b" }] });
        let new = json!({ "ports": [{ "port": 443, "to": "b" }, { "port": 8080, "to": "c" }] });
        assert_eq!(
            pod_differences(&old, &new),
            [
                r#".ports[80] {"port":80,"to":"a"} -"#,
                r#".ports[8080] - {"port":8080,"to":"c"}"#
            ]
        );

        let none = json!({ "status": {} });
        let some = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
        let condition = r#"{"status":"True","type":"Ready"}"#;
        assert_eq!(
            pod_differences(&none, &some),
            [format!(".status.conditions[Ready] - {condition}")]
        );
        assert_eq!(
            pod_differences(&some, &none),
            [format!(".status.conditions[Ready] {condition} -")]
        );
    }

    #[test]
    fn elements_without_names_are_identified_by_index() {
        let old = json!({ "rules": [{ "verbs": ["get"] }, { "verbs": ["list"] }] });
        let new = json!({ "rules": [{ "verbs": ["get"] }, { "verbs": ["list", "watch"] }] });
        assert_eq!(
            pod_differences(&old, &new),
            [r#".rules[1].verbs ["list"] ["list","watch"]"#]
        );
        let twice = json!({ "list": [{ "name": "a", "x": 1 }, { "name": "a", "x": 2 }] });
        let other = json!({ "list": [{ "name": "a", "x": 1 }, { "name": "a", "x": 3 }] });
        assert_eq!(pod_differences(&twice, &other), [".list[1].x 2 3"]);
    }

    #[test]
    fn names_with_dots_are_quoted() {
        let old = json!({ "metadata": { "labels": { "a.b/c": "x" } }, "metadata.generation": 1 });
        let new = json!({ "metadata": { "labels": { "a.b/c": "y" } }, "metadata.generation": 2 });
        assert_eq!(
            pod_differences(&old, &new),
            [
                "['metadata.generation'] 1 2",
                r#".metadata.labels['a.b/c'] "x" "y""#
            ]
        );
    }

    #[test]
    fn the_most_relevant_fields_are_first() {
        let state = |n: u8| {
            json!({
                "data": n,
                "metadata": { "labels": { "a": n }, "deletionTimestamp": n },
                "spec": { "deep": { "er": n }, "flat": n },
                "status": { "lastProbeTime": n, "observedGeneration": n, "ready": n },
            })
        };
        assert_eq!(
            pod_differences(&state(1), &state(2)),
            [
                ".spec.flat 1 2",
                ".spec.deep.er 1 2",
                ".status.ready 1 2",
                ".data 1 2",
                ".metadata.deletionTimestamp 1 2",
                ".metadata.labels.a 1 2",
                ".status.lastProbeTime 1 2",
                ".status.observedGeneration 1 2",
            ]
        );
    }

    #[test]
    fn values_of_a_secret_are_hidden() {
        let empty = json!({ "metadata": { "name": "s" } });
        let full = json!({
            "metadata": { "name": "s", "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{\"data\":{\"password\":\"aHVudGVyMg==\"}}",
            } },
            "data": { "password": "aHVudGVyMg==", "tls.crt": "aHVudGVyMg==" },
            "stringData": { "word": "hunter2" },
            "token": "hunter2",
        });
        let mut other = full.clone();
        other["data"]["password"] = json!("aHVudGVyMw==");
        other["token"] = json!("hunter3");
        let size = "\"(7 bytes, not shown)\"";
        assert_eq!(
            secret_differences(&full, &other),
            [format!(".data.password {size} {size} (hidden)")]
        );
        let mut odd = full.clone();
        odd["data"] = json!(["hunter2"]);
        for (old, new) in [
            (&empty, &full),
            (&full, &empty),
            (&full, &other),
            (&full, &odd),
            (&odd, &empty),
        ] {
            let printed = secret_differences(old, new).join("\n");
            assert!(
                !printed.contains("aHVudGVy") && !printed.contains("hunter"),
                "{printed}"
            );
        }
        assert_eq!(
            secret_differences(&empty, &full),
            [
                format!(".data.password - {size} (hidden)"),
                format!(".stringData.word - {size} (hidden)"),
                format!(".data['tls.crt'] - {size} (hidden)"),
                ".metadata.annotations['kubectl.kubernetes.io/last-applied-configuration'] \
                 - \"(not shown)\" (hidden)"
                    .to_owned(),
            ]
        );
    }

    #[test]
    fn values_of_a_secret_inside_another_object_are_hidden() {
        let bundle = |word: &str| {
            let secret = json!({ "apiVersion": "v1", "kind": "Secret", "key": word, "data": { "a": word } });
            json!({ "spec": { "list": [secret], "one": secret } })
        };
        let (old, new) = (bundle("hunter2"), bundle("hunter3"));
        let hidden = "\"(5 bytes, not shown)\" \"(5 bytes, not shown)\" (hidden)";
        assert_eq!(
            pod_differences(&old, &new),
            [
                format!(".spec.one.data.a {hidden}"),
                format!(".spec.list[0].data.a {hidden}"),
            ]
        );
        let other = json!({ "spec": { "list": "none", "one": 1 } });
        for (old, new) in [
            (&json!({}), &new),
            (&new, &json!({})),
            (&old, &other),
            (&other, &old),
        ] {
            let printed = pod_differences(old, new).join("\n");
            assert!(printed.contains("(5 bytes, not shown)"), "{printed}");
            assert!(!printed.contains("hunter"), "{printed}");
        }
    }

    #[test]
    fn redacted_values_are_compared_by_their_placeholders() {
        let shown = |size: u8| {
            let size = format!("({size} bytes, not shown)");
            json!({ "apiVersion": "v1", "kind": "Secret", "data": { "a": size, "b": "(3 bytes, not shown)" } })
        };
        assert_eq!(
            lines(&differences_in_redacted(&shown(7), &shown(8))),
            [r#".data.a "(7 bytes, not shown)" "(8 bytes, not shown)""#]
        );
    }
}
