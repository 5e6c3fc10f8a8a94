//! Validates and matches label selectors.

use serde_json::Value;

use super::errors::{Errors, in_order};
use super::names;
use crate::defaults::fields::{is_empty, items, text};

const ORDER: [&str; 5] = ["matchLabels", "matchExpressions", "key", "operator", "values"];

/// Formats a selector for messages.
pub(super) fn go_text(selector: &Value) -> String {
    in_order(selector, &ORDER)
}

/// Validates a selector.
pub(super) fn selector(field: &str, selector: &Value, errors: &mut Errors) {
    super::metadata::labels(&format!("{field}.matchLabels"), &selector["matchLabels"], errors);
    for (index, expression) in items(selector, "matchExpressions").iter().enumerate() {
        let at = format!("{field}.matchExpressions[{index}]");
        let valued = !is_empty(&expression["values"]);
        match text(expression, "operator") {
            "In" | "NotIn" if !valued => {
                errors.required_because(
                    format!("{at}.values"),
                    "must be specified when `operator` is 'In' or 'NotIn'",
                );
            }
            "Exists" | "DoesNotExist" if valued => {
                errors.forbidden(
                    format!("{at}.values"),
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                );
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => errors.invalid(format!("{at}.operator"), other, "not a valid selector operator"),
        }
        let key = text(expression, "key");
        errors.problems(&format!("{at}.key"), key, names::qualified(key));
    }
}

/// Returns whether a selector can be evaluated.
pub(super) fn is_usable(selector: &Value) -> bool {
    let mut errors = Errors::default();
    self::selector("", selector, &mut errors);
    errors.0.is_empty()
}

/// Returns whether labels match a selector. An absent selector matches nothing.
pub(super) fn matches(selector: &Value, labels: &Value) -> bool {
    if !selector.is_object() {
        return false;
    }
    let exact = selector["matchLabels"]
        .as_object()
        .is_none_or(|wanted| wanted.iter().all(|(k, v)| labels.get(k) == Some(v)));
    exact
        && items(selector, "matchExpressions").iter().all(|e| {
            let value = labels.get(text(e, "key"));
            let listed = value.is_some_and(|v| items(e, "values").contains(v));
            match text(e, "operator") {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        })
}
