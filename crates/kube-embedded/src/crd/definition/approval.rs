//! Protects the groups of Kubernetes itself.

use serde_json::Value;

use super::super::formats;
use crate::status::FieldError;

const APPROVED: &str = "api-approved.kubernetes.io";

/// Checks that a definition in a protected group is approved.
pub(super) fn check(crd: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let group = crd["spec"]["group"].as_str().unwrap_or_default();
    let is_within = |domain: &str| {
        group
            .strip_suffix(domain)
            .is_some_and(|g| g.is_empty() || g.ends_with('.'))
    };
    if !is_within("k8s.io") && !is_within("kubernetes.io") {
        return;
    }
    let state = |of: &Value| -> (bool, bool) {
        let text = of["metadata"]["annotations"][APPROVED]
            .as_str()
            .unwrap_or_default();
        let url = text
            .split_once("://")
            .is_some_and(|(scheme, host)| !scheme.is_empty() && !host.is_empty());
        (
            text.is_empty(),
            text.starts_with("unapproved") || (url && formats::holds("uri", text)),
        )
    };
    let (missing, fine) = state(crd);
    if fine || old.is_some_and(|old| state(old) == (missing, fine)) {
        return;
    }
    let field = format!("metadata.annotations[{APPROVED}]");
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let need = format!("protected groups must have approval annotation {APPROVED:?}");
    if missing {
        errors.push(FieldError::required(field, format!("{need}, {see}")));
    } else {
        let value = crd["metadata"]["annotations"][APPROVED].clone();
        let detail = format!("{need} with either a URL or a reason starting with \"unapproved\", {see}");
        errors.push(FieldError::invalid(field, value, detail));
    }
}
