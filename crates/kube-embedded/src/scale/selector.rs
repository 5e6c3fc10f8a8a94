//! Formats label selectors as text.

use std::fmt;

use serde_json::Value;

/// One requirement of a selector. The order is the server's: by key, then by operator.
struct Requirement<'a> {
    key: &'a str,
    operator: Operator,
    values: Vec<&'a str>,
}

#[derive(Clone, Copy)]
enum Operator {
    Equals,
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl fmt::Display for Requirement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Requirement { key, values, .. } = self;
        let values = values.join(",");
        match self.operator {
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
        }
    }
}

/// Formats a `LabelSelector`, or the map of a ReplicationController: `app=web,tier in (a,b)`.
///
/// The text of an empty selector, which selects everything, is empty. A missing selector selects nothing.
pub(crate) fn selector_text(selector: &Value) -> String {
    let Value::Object(fields) = selector else {
        return String::new();
    };
    let is_map = fields.values().all(Value::is_string);
    let labels = if is_map {
        Some(selector)
    } else {
        fields.get("matchLabels")
    };
    let mut requirements: Vec<Requirement<'_>> = labels
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| Requirement {
            key,
            operator: Operator::Equals,
            values: value.as_str().into_iter().collect(),
        })
        .collect();
    let expressions = fields.get("matchExpressions").and_then(Value::as_array);
    requirements.extend(expressions.into_iter().flatten().filter_map(expression));
    requirements.sort_by_key(|r| r.key);
    let texts: Vec<String> = requirements.iter().map(ToString::to_string).collect();
    texts.join(",")
}

fn expression(expression: &Value) -> Option<Requirement<'_>> {
    let operator = match expression["operator"].as_str()? {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        _ => return None,
    };
    let listed = expression["values"].as_array().into_iter().flatten();
    let mut values: Vec<&str> = listed.filter_map(Value::as_str).collect();
    values.sort_unstable();
    Some(Requirement {
        key: expression["key"].as_str()?,
        operator,
        values,
    })
}
