//! Selectors. An input is a line of labels as `key=value` with commas between them, and the selector's text.

use std::collections::BTreeMap;

use kube_wire::json;
use kube_wire::protobuf::{Envelope, Schema, encode};
use kube_wire::selector::Selector;
use serde_json::json;

/// A selector survives a round trip, and selects what its text means, in any format of the labels.
pub(crate) fn selector(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (labels, text) = text.split_once('\n').unwrap_or(("", text));
    let pairs = labels.split(',').filter_map(|pair| pair.split_once('='));
    let labels: BTreeMap<String, String> = pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    let Ok(selector) = text.parse::<Selector>() else {
        return;
    };
    let printed = selector.to_string();
    assert_eq!(printed.parse(), Ok(selector.clone()), "{printed}");
    assert_eq!(selector.is_everything(), printed.is_empty());

    let wanted = requirements(&printed)
        .into_iter()
        .all(|requirement| is_met(requirement, &labels));
    assert_eq!(selector.matches(&labels), wanted, "{printed} of {labels:?}");
    if selector.is_nothing() {
        assert!(!wanted);
    }
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": labels}, "data": {},
    });
    let text = object.to_string();
    assert_eq!(json::matches(text.as_bytes(), &selector).expect("labels"), wanted);
    let bytes = encode(&object).expect("an object");
    let schema = Schema::of("v1", "ConfigMap").expect("a known kind");
    let message = Envelope::parse(&bytes).expect("an envelope").raw;
    assert_eq!(schema.matches(message, &selector).expect("labels"), wanted);

    let both = selector.clone().and(selector.clone());
    assert_eq!(
        both.matches(&labels),
        wanted,
        "a repeated requirement changes nothing"
    );
    assert_eq!(both.to_string().parse(), Ok(both));
}

/// Splits a printed selector into requirements. Commas in parentheses belong to a list.
fn requirements(printed: &str) -> Vec<&str> {
    let mut is_listing = false;
    let parts = printed.split(|c| {
        is_listing = (is_listing || c == '(') && c != ')';
        c == ',' && !is_listing
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// Returns whether one requirement is met, in a simple implementation.
fn is_met(requirement: &str, labels: &BTreeMap<String, String>) -> bool {
    let value = |key: &str| labels.get(key).map(String::as_str);
    let listed = |(key, list): (&str, &str)| {
        value(key).is_some_and(|value| {
            list.trim_end_matches(')')
                .split(',')
                .any(|listed| listed == value)
        })
    };
    let number = |key: &str| value(key).and_then(|value| value.parse::<i64>().ok());
    let bound = |text: &str| text.parse::<i64>().expect("a bound");
    if let Some(key) = requirement.strip_prefix('!') {
        value(key).is_none()
    } else if let Some(parts) = requirement.split_once(" notin (") {
        !listed(parts)
    } else if let Some(parts) = requirement.split_once(" in (") {
        listed(parts)
    } else if let Some((key, unwanted)) = requirement.split_once("!=") {
        value(key) != Some(unwanted)
    } else if let Some((key, wanted)) = requirement.split_once('=') {
        value(key) == Some(wanted)
    } else if let Some((key, least)) = requirement.split_once('>') {
        number(key).is_some_and(|number| number > bound(least))
    } else if let Some((key, most)) = requirement.split_once('<') {
        number(key).is_some_and(|number| number < bound(most))
    } else {
        value(requirement).is_some()
    }
}
