//! Defaults of definitions, and warnings about them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::formats;
use super::super::structure::Schema;

/// Sets the defaults of a definition.
pub(crate) fn default_crd(crd: &mut Value) {
    let Some(spec) = crd.get_mut("spec").filter(|spec| spec.is_object()) else {
        return;
    };
    if spec["conversion"].is_null() {
        spec["conversion"] = json!({ "strategy": "None" });
    }
    if let Some(service) = spec["conversion"]
        .get_mut("webhook")
        .and_then(|w| w.get_mut("clientConfig"))
        .and_then(|c| c.get_mut("service"))
        .filter(|s| s.is_object() && s["port"].is_null())
    {
        service["port"] = 443.into();
    }
    let kind = spec["names"]["kind"].as_str().unwrap_or_default().to_owned();
    let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) else {
        return;
    };
    if kind.is_empty() {
        return;
    }
    let mut default = |key: &str, name: String| {
        if names
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .is_empty()
        {
            names.insert(key.to_owned(), name.into());
        }
    };
    default("singular", kind.to_lowercase());
    default("listKind", format!("{kind}List"));
}

/// Returns the formats in a definition that the server ignores, for warnings like `unrecognized format "x"`.
pub(crate) fn unrecognized_formats(crd: &Value) -> Vec<String> {
    let mut found = BTreeSet::new();
    for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
        collect_formats(&version["schema"]["openAPIV3Schema"], &mut found);
    }
    found.into_iter().collect()
}

fn collect_formats(schema: &Value, found: &mut BTreeSet<String>) {
    let schema = Schema(schema);
    let format = schema.text("format");
    if !format.is_empty() && !formats::is_recognized(schema.kind(), format) {
        found.insert(format.to_owned());
    }
    schema
        .properties()
        .for_each(|(_, inner)| collect_formats(inner.0, found));
    for key in ["items", "additionalProperties", "not"] {
        if let Some(inner) = schema.get(key) {
            collect_formats(inner, found);
        }
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        schema
            .schemas(key)
            .for_each(|inner| collect_formats(inner.0, found));
    }
}
