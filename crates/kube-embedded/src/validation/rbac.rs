//! Validates roles and role bindings.

use serde_json::Value;

use super::errors::Errors;
use super::names;
use crate::defaults::fields::{is_empty, items, text};
use crate::status::FieldError;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn role(kind: &str, object: &Value, errors: &mut Errors) {
    for (index, rule) in items(object, "rules").iter().enumerate() {
        let at = format!("rules[{index}]");
        if is_empty(&rule["verbs"]) {
            errors.required_because(format!("{at}.verbs"), "verbs must contain at least one value");
        }
        let urls = &rule["nonResourceURLs"];
        if !is_empty(urls) {
            let field = format!("{at}.nonResourceURLs");
            if kind == "Role" {
                errors.invalid(
                    field.clone(),
                    urls.clone(),
                    "namespaced rules cannot apply to non-resource URLs",
                );
            }
            let resources = ["apiGroups", "resources", "resourceNames"];
            if resources.iter().any(|name| !is_empty(&rule[*name])) {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                errors.invalid(field, urls.clone(), detail);
            }
            continue;
        }
        if is_empty(&rule["apiGroups"]) {
            let detail = "resource rules must supply at least one api group";
            errors.required_because(format!("{at}.apiGroups"), detail);
        }
        if is_empty(&rule["resources"]) {
            let detail = "resource rules must supply at least one resource";
            errors.required_because(format!("{at}.resources"), detail);
        }
    }
}

pub(super) fn binding(kind: &str, object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let reference = &object["roleRef"];
    errors.one_of("roleRef.apiGroup", &reference["apiGroup"], &[GROUP]);
    let roles: &[&str] = if kind == "RoleBinding" {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    errors.one_of("roleRef.kind", &reference["kind"], roles);
    match text(reference, "name") {
        "" => errors.required("roleRef.name"),
        name => errors.problems("roleRef.name", name, names::path_segment(name)),
    }
    for (index, subject) in items(object, "subjects").iter().enumerate() {
        let at = format!("subjects[{index}]");
        let name = text(subject, "name");
        if name.is_empty() {
            errors.required(format!("{at}.name"));
        }
        match text(subject, "kind") {
            "ServiceAccount" => {
                if !name.is_empty() {
                    errors.problems(&format!("{at}.name"), name, names::subdomain(name));
                }
                if !text(subject, "apiGroup").is_empty() {
                    errors.one_of(format!("{at}.apiGroup"), &subject["apiGroup"], &[""]);
                }
                if kind == "ClusterRoleBinding" && text(subject, "namespace").is_empty() {
                    errors.required(format!("{at}.namespace"));
                }
            }
            "User" | "Group" => errors.one_of(format!("{at}.apiGroup"), &subject["apiGroup"], &[GROUP]),
            _ => errors.one_of(
                format!("{at}.kind"),
                &subject["kind"],
                &["ServiceAccount", "User", "Group"],
            ),
        }
    }
    if let Some(old) = old
        && old["roleRef"] != *reference
    {
        let shown = format!(
            "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
            reference["apiGroup"], reference["kind"], reference["name"]
        );
        errors.add(FieldError::invalid("roleRef", reference.clone(), "cannot change roleRef").showing(shown));
    }
}
