//! What of an object nobody is told: the values of Secrets.

use serde_json::{Map, Value};

use crate::object::WatchedResource;

/// `kubectl apply` keeps the whole object in it, values included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A place in an object, and so what of it may be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In an object in which everything was hidden that is to be.
    Cleared,
    /// Anywhere: everything may be told but Secrets that are in it.
    Open,
    /// An object that is no Secret. What was applied to it is not told, because its fields tell the same.
    Object,
    Secret,
    Metadata,
    Annotations,
    /// What was last applied to an object that is no Secret; it may hold some.
    Applied,
    /// The map with a Secret's values.
    Values(Writing),
    /// One that is never told.
    Value(Writing),
}

/// How a hidden value is written, and so how large it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writing {
    Base64,
    Plain,
    /// The size would say nothing.
    Any,
}

impl Place {
    /// A whole object of a resource.
    pub(super) fn of(resource: &WatchedResource) -> Place {
        if is_secret(resource) {
            Place::Secret
        } else {
            Place::Object
        }
    }

    /// What says that it is a Secret is one, wherever it is.
    pub(super) fn with(self, value: Option<&Value>) -> Place {
        match (self, value) {
            (
                Place::Open | Place::Object | Place::Metadata | Place::Annotations,
                Some(Value::Object(fields)),
            ) if says_secret(fields) => Place::Secret,
            _ => self,
        }
    }

    /// The place of a field; none if not even its name is told.
    pub(super) fn field(self, name: &str) -> Option<Place> {
        Some(match (self, name) {
            (Place::Cleared, _) => Place::Cleared,
            (Place::Object | Place::Secret, "metadata") => Place::Metadata,
            (Place::Secret, "data") => Place::Values(Writing::Base64),
            (Place::Secret, "stringData") => Place::Values(Writing::Plain),
            (Place::Secret, "apiVersion" | "kind" | "type" | "immutable") => Place::Open,
            // Types of one's own may keep its values under any name.
            (Place::Secret, _) => return None,
            (Place::Metadata, "annotations") => Place::Annotations,
            (Place::Annotations, LAST_APPLIED) => Place::Value(Writing::Any),
            (Place::Open, LAST_APPLIED) => Place::Applied,
            (Place::Values(writing) | Place::Value(writing), _) => Place::Value(writing),
            (Place::Open | Place::Object | Place::Metadata | Place::Annotations | Place::Applied, _) => {
                Place::Open
            }
        })
    }

    /// The place of a list's elements.
    pub(super) fn element(self) -> Place {
        match self {
            Place::Cleared => Place::Cleared,
            _ => Place::Open,
        }
    }

    /// Whether a value that is there is not told.
    pub(super) fn hides(self, value: Option<&Value>) -> bool {
        match self {
            Place::Value(_) => true,
            Place::Applied => value.and_then(Value::as_str).is_some_and(tells_secret),
            // What is no object has no fields that could be told apart.
            Place::Secret | Place::Values(_) => {
                value.is_some_and(|value| !value.is_object() && !value.is_null())
            }
            _ => false,
        }
    }

    /// Whether fields of it are hidden whose names are told.
    pub(super) fn has_hidden_fields(self) -> bool {
        matches!(self, Place::Values(_) | Place::Annotations)
    }

    /// What may be told of a value.
    pub(super) fn told(self, value: &Value) -> Value {
        let mut told = value.clone();
        self.hide(&mut told);
        told
    }

    fn hide(self, value: &mut Value) {
        let place = self.with(Some(value));
        if place.hides(Some(value)) {
            *value = place.stand_in(value);
            return;
        }
        match value {
            Value::Object(fields) => fields.retain(|name, field| {
                let place = place.field(name);
                place.inspect(|place| place.hide(field)).is_some()
            }),
            Value::Array(elements) => elements
                .iter_mut()
                .for_each(|element| place.element().hide(element)),
            _ => {}
        }
    }

    /// What stands where a value is hidden.
    fn stand_in(self, value: &Value) -> Value {
        let size = match (self, value) {
            (Place::Value(Writing::Base64), Value::String(text)) => {
                Some(text.trim_end_matches('=').len() * 3 / 4)
            }
            (Place::Value(Writing::Plain), Value::String(text)) => Some(text.len()),
            _ => None,
        };
        match size {
            Some(size) => format!("({size} bytes, not shown)").into(),
            None => "(not shown)".into(),
        }
    }
}

/// Whether a resource is the core group's Secret.
pub(crate) fn is_secret(resource: &WatchedResource) -> bool {
    resource.group().is_empty() && (resource.plural() == "secrets" || resource.kind() == "Secret")
}

fn says_secret(fields: &Map<String, Value>) -> bool {
    let says = |name: &str, word: &str| fields.get(name).and_then(Value::as_str) == Some(word);
    says("kind", "Secret") && says("apiVersion", "v1")
}

fn holds_secret(value: &Value) -> bool {
    match value {
        Value::Object(fields) => says_secret(fields) || fields.values().any(holds_secret),
        Value::Array(elements) => elements.iter().any(holds_secret),
        _ => false,
    }
}

/// Whether a text is JSON that holds a Secret. Most texts are known not to be without being read.
fn tells_secret(text: &str) -> bool {
    text.contains("Secret") && serde_json::from_str(text).is_ok_and(|value: Value| holds_secret(&value))
}

/// Takes the values of Secrets out of an object: of the object itself if its resource is Secret, and of whatever in it says
/// that it is one.
pub(crate) fn redact(value: &mut Value, is_secret: bool) {
    let place = if is_secret { Place::Secret } else { Place::Open };
    place.hide(value);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::redact;

    #[test]
    fn of_a_secret_only_names_and_sizes_are_left() {
        let mut secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": { "name": "db", "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{\"data\":{\"password\":\"aHVudGVyMg==\"}}",
                "team": "shop",
            } },
            "data": { "password": "aHVudGVyMg==", "odd": 7 },
            "stringData": { "plain": "hunter2" },
            "token": "hunter2",
        });
        redact(&mut secret, true);
        assert_eq!(
            secret,
            json!({
                "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                "metadata": { "name": "db", "annotations": {
                    "kubectl.kubernetes.io/last-applied-configuration": "(not shown)",
                    "team": "shop",
                } },
                "data": { "password": "(7 bytes, not shown)", "odd": "(not shown)" },
                "stringData": { "plain": "(7 bytes, not shown)" },
            })
        );
    }

    #[test]
    fn an_object_that_does_not_say_what_it_is_is_known_by_its_resource() {
        let mut nameless = json!({ "metadata": {}, "data": { "password": "aHVudGVyMg==" } });
        redact(&mut nameless, true);
        assert!(!nameless.to_string().contains("aHVudGVyMg"));
        for shapeless in [
            json!("hunter2"),
            json!(["hunter2"]),
            json!({ "data": ["hunter2"] }),
        ] {
            let mut shown = shapeless.clone();
            redact(&mut shown, true);
            assert!(!shown.to_string().contains("hunter2"), "{shapeless}");
        }
    }

    #[test]
    fn a_secret_inside_another_object_is_redacted() {
        let mut bundle = json!({
            "kind": "Bundle",
            "spec": { "manifests": [{ "apiVersion": "v1", "kind": "Secret", "data": { "a": "aHVudGVyMg==" } }] },
        });
        redact(&mut bundle, false);
        assert!(!bundle.to_string().contains("aHVudGVyMg"));
        let mut map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "kept" } });
        redact(&mut map, false);
        assert_eq!(map["data"]["a"], "kept");
    }

    #[test]
    fn what_was_applied_is_shown_unless_a_secret_is_in_it() {
        let applied = |manifest: Value| {
            let text = json!({ "kind": "Bundle", "manifests": [manifest] }).to_string();
            let mut bundle = json!({ "metadata": { "annotations": { super::LAST_APPLIED: text } } });
            redact(&mut bundle, false);
            bundle["metadata"]["annotations"][super::LAST_APPLIED].clone()
        };
        let secret =
            applied(json!({ "apiVersion": "v1", "kind": "Secret", "stringData": { "a": "hunter2" } }));
        assert_eq!(secret, "(not shown)");
        let reference = applied(json!({ "ref": { "kind": "Secret", "name": "db" } }));
        assert!(
            reference.as_str().is_some_and(|text| text.contains("db")),
            "{reference}"
        );
    }
}
