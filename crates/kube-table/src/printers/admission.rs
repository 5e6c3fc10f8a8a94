//! Webhooks and policies of `admissionregistration.k8s.io`.

use std::fmt::Write;

use serde_json::Value;

use super::{Print, values};
use crate::format::join;
use crate::row::{Row, items, text};

pub(super) fn printer(kind: &str) -> Option<Print> {
    let print: Print = match kind {
        "MutatingAdmissionPolicy" => |row| policy(row, "/spec/mutations"),
        "ValidatingAdmissionPolicy" => |row| policy(row, "/spec/validations"),
        "MutatingAdmissionPolicyBinding" | "ValidatingAdmissionPolicyBinding" => binding,
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => webhooks,
        _ => return None,
    };
    Some(print)
}

fn webhooks(row: Row<'_>) -> Vec<Value> {
    values![row.name(), row.count("/webhooks"), row.age()]
}

fn policy(row: Row<'_>, rules: &str) -> Vec<Value> {
    let parameters = row.at("/spec/paramKind").map_or_else(
        || "<unset>".into(),
        |kind| format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind")),
    );
    values![row.name(), row.count(rules), parameters, row.age()]
}

fn binding(row: Row<'_>) -> Vec<Value> {
    let name = row.text("/spec/paramRef/name");
    let parameters = if !name.is_empty() {
        format!("{}/{name}", row.text_or("/spec/paramRef/namespace", "*"))
    } else if let Some(selector) = row.at("/spec/paramRef/selector") {
        dump(selector)
    } else {
        "<unset>".into()
    };
    values![row.name(), row.text("/spec/policyName"), parameters, row.age()]
}

/// Formats a label selector like Go's debug output, which the kube-apiserver prints here.
fn dump(selector: &Value) -> String {
    let mut labels: Vec<(&String, &Value)> = selector["matchLabels"]
        .as_object()
        .into_iter()
        .flatten()
        .collect();
    labels.sort_unstable_by_key(|(key, _)| *key);
    let labels = labels.iter().fold(String::new(), |mut text, (key, value)| {
        let _ = write!(text, "{key}: {},", value.as_str().unwrap_or_default());
        text
    });
    let expressions =
        items(&selector["matchExpressions"])
            .iter()
            .fold(String::new(), |mut out, expression| {
                let _ = write!(
                    out,
                    "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
                    text(expression, "key"),
                    text(expression, "operator"),
                    join(items(&expression["values"]), " ")
                );
                out
            });
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
         MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}
