//! Hides the values of Secrets.

use kube_informer::WatchedResource;
use serde_json::{Map, Value};

/// Annotation in which `kubectl apply` stores the whole object, values included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The position in an object, which determines what is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// In an object that was redacted before.
    Redacted,
    /// Anywhere: everything is shown but Secrets inside.
    Open,
    /// An object that is not a Secret. Its last applied configuration is hidden, because it repeats the fields.
    Object,
    Secret,
    Metadata,
    Annotations,
    /// The last applied configuration of an object that is not a Secret. It may contain Secrets.
    Applied,
    /// The map of a Secret's values.
    Values(Encoding),
    /// A value that is always hidden.
    Value(Encoding),
}

/// The encoding of a hidden value, which determines its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Base64,
    Plain,
    /// The size is not shown.
    Unknown,
}

impl Context {
    /// The context of a whole object.
    pub(super) fn of(resource: &WatchedResource) -> Context {
        if is_secret(resource) {
            Context::Secret
        } else {
            Context::Object
        }
    }

    /// The context of a value. An object whose kind is Secret is treated as one at any position.
    pub(super) fn with(self, value: Option<&Value>) -> Context {
        match (self, value) {
            (
                Context::Open | Context::Object | Context::Metadata | Context::Annotations,
                Some(Value::Object(fields)),
            ) if is_secret_object(fields) => Context::Secret,
            _ => self,
        }
    }

    /// The context of a field, or `None` if even its name is hidden.
    pub(super) fn field(self, name: &str) -> Option<Context> {
        Some(match (self, name) {
            (Context::Redacted, _) => Context::Redacted,
            (Context::Object | Context::Secret, "metadata") => Context::Metadata,
            (Context::Secret, "data") => Context::Values(Encoding::Base64),
            (Context::Secret, "stringData") => Context::Values(Encoding::Plain),
            (Context::Secret, "apiVersion" | "kind" | "type" | "immutable") => Context::Open,
            // User-defined types may store values under any name.
            (Context::Secret, _) => return None,
            (Context::Metadata, "annotations") => Context::Annotations,
            (Context::Annotations, LAST_APPLIED) => Context::Value(Encoding::Unknown),
            (Context::Open, LAST_APPLIED) => Context::Applied,
            (Context::Values(encoding) | Context::Value(encoding), _) => Context::Value(encoding),
            (
                Context::Open | Context::Object | Context::Metadata | Context::Annotations | Context::Applied,
                _,
            ) => Context::Open,
        })
    }

    /// The context of a list's elements.
    pub(super) fn element(self) -> Context {
        match self {
            Context::Redacted => Context::Redacted,
            _ => Context::Open,
        }
    }

    /// Returns whether a value is hidden.
    pub(super) fn hides(self, value: Option<&Value>) -> bool {
        match self {
            Context::Value(_) => true,
            Context::Applied => value.and_then(Value::as_str).is_some_and(text_contains_secret),
            // A value that is not an object has no fields to show.
            Context::Secret | Context::Values(_) => {
                value.is_some_and(|value| !value.is_object() && !value.is_null())
            }
            _ => false,
        }
    }

    /// Returns whether there are hidden fields whose names are shown.
    pub(super) fn has_hidden_fields(self) -> bool {
        matches!(self, Context::Values(_) | Context::Annotations)
    }

    /// Returns a redacted copy of a value.
    pub(super) fn redacted(self, value: &Value) -> Value {
        let mut redacted = value.clone();
        self.hide(&mut redacted);
        redacted
    }

    fn hide(self, value: &mut Value) {
        let context = self.with(Some(value));
        if context.hides(Some(value)) {
            *value = context.placeholder(value);
            return;
        }
        match value {
            Value::Object(fields) => fields.retain(|name, field| {
                let context = context.field(name);
                context.inspect(|context| context.hide(field)).is_some()
            }),
            Value::Array(elements) => elements
                .iter_mut()
                .for_each(|element| context.element().hide(element)),
            _ => {}
        }
    }

    /// Returns the text that replaces a hidden value.
    fn placeholder(self, value: &Value) -> Value {
        let size = match (self, value) {
            (Context::Value(Encoding::Base64), Value::String(text)) => {
                Some(text.trim_end_matches('=').len() * 3 / 4)
            }
            (Context::Value(Encoding::Plain), Value::String(text)) => Some(text.len()),
            _ => None,
        };
        match size {
            Some(size) => format!("({size} bytes, not shown)").into(),
            None => "(not shown)".into(),
        }
    }
}

/// Returns whether a resource is the core group's Secret.
pub(crate) fn is_secret(resource: &WatchedResource) -> bool {
    resource.group().is_empty() && (resource.plural() == "secrets" || resource.kind() == "Secret")
}

fn is_secret_object(fields: &Map<String, Value>) -> bool {
    let has = |name: &str, value: &str| fields.get(name).and_then(Value::as_str) == Some(value);
    has("kind", "Secret") && has("apiVersion", "v1")
}

fn contains_secret(value: &Value) -> bool {
    match value {
        Value::Object(fields) => is_secret_object(fields) || fields.values().any(contains_secret),
        Value::Array(elements) => elements.iter().any(contains_secret),
        _ => false,
    }
}

/// Returns whether a text is JSON that contains a Secret. Most texts are excluded without parsing.
fn text_contains_secret(text: &str) -> bool {
    text.contains("Secret") && serde_json::from_str(text).is_ok_and(|value: Value| contains_secret(&value))
}

/// Hides the values of Secrets in an object: of the object itself if its resource is `secrets`, and of every
/// object inside whose kind is Secret.
pub(crate) fn redact(value: &mut Value, is_secret: bool) {
    let context = if is_secret { Context::Secret } else { Context::Open };
    context.hide(value);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::redact;

    #[test]
    fn redacts_a_secret_to_names_and_sizes() {
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
    fn an_object_without_a_kind_is_redacted_by_its_resource() {
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
    fn the_last_applied_configuration_is_hidden_if_it_contains_a_secret() {
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
