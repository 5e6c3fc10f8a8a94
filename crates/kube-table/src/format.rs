//! Text that several printers share.

use serde_json::{Map, Value};

use crate::row::{items, text};

/// Returns the first items, and the number of the remaining ones.
pub(crate) fn first_of(parts: &[String], most: usize, separator: &str) -> String {
    let shown = parts.get(..most).unwrap_or(parts).join(separator);
    match parts.len().checked_sub(most) {
        Some(more) if more > 0 => format!("{shown} + {more} more..."),
        _ => shown,
    }
}

/// Like [`first_of`] with three parts, and `<unset>` if there are none.
pub(crate) fn first_three_or_unset(parts: &[String]) -> String {
    match first_of(parts, 3, ",") {
        shown if shown.is_empty() => "<unset>".into(),
        shown => shown,
    }
}

/// Joins the strings of a list.
pub(crate) fn join(list: &[Value], separator: &str) -> String {
    let parts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
    parts.join(separator)
}

/// Returns `key=value` pairs in order of the keys, or `<none>`.
pub(crate) fn labels(labels: Option<&Map<String, Value>>) -> String {
    let mut pairs: Vec<(&String, &str)> = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| (key, value.as_str().unwrap_or_default()))
        .collect();
    pairs.sort_unstable();
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    or_none(pairs.join(","))
}

/// Returns a label selector in command-line syntax: empty if it selects everything or does not exist, `None`
/// if it is invalid.
pub(crate) fn selector(selector: Option<&Value>) -> Option<String> {
    let Some(selector) = selector else {
        return Some(String::new());
    };
    let mut requirements = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        requirements.push((
            key.as_str(),
            format!("{key}={}", value.as_str().unwrap_or_default()),
        ));
    }
    for expression in items(&selector["matchExpressions"]) {
        let key = text(expression, "key");
        let mut values: Vec<&str> = items(&expression["values"])
            .iter()
            .filter_map(Value::as_str)
            .collect();
        values.sort_unstable();
        let (few, values) = (values.is_empty(), values.join(","));
        let written = match (text(expression, "operator"), few) {
            ("In", false) => format!("{key} in ({values})"),
            ("NotIn", false) => format!("{key} notin ({values})"),
            ("Exists", true) => key.to_owned(),
            ("DoesNotExist", true) => format!("!{key}"),
            _ => return None,
        };
        requirements.push((key, written));
    }
    requirements.sort_by_key(|(key, _)| *key);
    let written: Vec<String> = requirements.into_iter().map(|(_, written)| written).collect();
    Some(written.join(","))
}

/// Returns a label selector for a cell of its own.
pub(crate) fn selector_cell(value: Option<&Value>) -> String {
    selector(value).map_or_else(|| "<error>".into(), or_none)
}

/// Returns names and images of the containers.
pub(crate) fn containers(containers: &[Value]) -> (String, String) {
    let all = |field| {
        let parts: Vec<&str> = containers
            .iter()
            .map(|container| text(container, field))
            .collect();
        parts.join(",")
    };
    (all("name"), all("image"))
}

/// Returns a quantity as stored, or zero if it is missing.
pub(crate) fn quantity(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => "0".into(),
    }
}

/// Returns `resource.group`, or only the resource in the core group.
pub(crate) fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    }
}

fn or_none(text: String) -> String {
    if text.is_empty() { "<none>".into() } else { text }
}
