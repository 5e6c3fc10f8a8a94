//! Keeps the values of Secrets in this process.
//!
//! Everything that leaves the dashboard, or is compared with what comes in, goes through here first: pages, objects,
//! filters, histories. So there is nothing of a Secret that a filter could find out by guessing.

use serde_json::{Map, Value};

use crate::kind::ResourceName;

/// `kubectl apply` keeps the whole object in it, values included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What of a Secret may be seen as it is. Types of one's own may keep its values under any name, so all else is left out.
const SHOWN: [&str; 5] = ["apiVersion", "kind", "metadata", "type", "immutable"];

/// Whether a resource is the core group's Secret.
pub(super) fn is_secret(resource: &ResourceName) -> bool {
    resource.group().is_empty() && (resource.plural() == "secrets" || resource.kind() == "Secret")
}

/// Takes the values of Secrets out of an object: of the object itself if its resource is Secret, and of whatever in it says
/// that it is one.
pub(super) fn redact(value: &mut Value, is_secret: bool) {
    match value {
        Value::Object(fields) => {
            if is_secret || says_secret(fields) {
                redact_secret(fields);
            }
            fields.values_mut().for_each(|field| redact(field, false));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, false)),
        _ => {}
    }
}

fn says_secret(fields: &Map<String, Value>) -> bool {
    let says = |name: &str, word: &str| fields.get(name).and_then(Value::as_str) == Some(word);
    says("kind", "Secret") && says("apiVersion", "v1")
}

fn redact_secret(fields: &mut Map<String, Value>) {
    if let Some(annotations) = fields
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"))
        .and_then(Value::as_object_mut)
        && let Some(applied) = annotations.get_mut(LAST_APPLIED)
    {
        *applied = Value::from("(not shown)");
    }
    let sizes = |values: &Value, size: fn(&str) -> usize| -> Value {
        let values = values.as_object().into_iter().flatten();
        let told = values.map(|(key, value)| {
            let told = match value.as_str() {
                Some(text) => format!("({} bytes, not shown)", size(text)),
                None => "(not shown)".to_owned(),
            };
            (key.clone(), Value::from(told))
        });
        Value::Object(told.collect())
    };
    let data = fields.get("data").map(|data| sizes(data, decoded_size));
    let string_data = fields.get("stringData").map(|data| sizes(data, str::len));
    fields.retain(|name, _| SHOWN.contains(&name.as_str()));
    fields.extend(data.map(|data| ("data".to_owned(), data)));
    fields.extend(string_data.map(|data| ("stringData".to_owned(), data)));
}

/// How many bytes a base64 text stands for.
fn decoded_size(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
}
