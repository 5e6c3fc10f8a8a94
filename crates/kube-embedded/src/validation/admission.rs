//! Admission policies and their bindings, apart from their expressions.

use std::collections::BTreeSet;

use serde_json::Value;

use super::errors::Errors;
use super::{names, selectors};
use crate::defaults::fields::{is_empty, items, text};
use crate::status::{FieldError, FieldErrorKind};

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
/// The most match conditions that a policy may have.
const CONDITIONS: usize = 64;
/// The most audit annotations that a policy may have.
const ANNOTATIONS: usize = 20;

/// Checks a policy.
pub(super) fn policy(object: &Value, errors: &mut Errors) {
    let spec = &object["spec"];
    errors.one_of("spec.failurePolicy", &spec["failurePolicy"], &["Fail", "Ignore"]);
    if spec["paramKind"].is_object() {
        param_kind("spec.paramKind", &spec["paramKind"], errors);
    }
    if spec["matchConstraints"].is_object() {
        match_resources("spec.matchConstraints", &spec["matchConstraints"], errors);
        if is_empty(&spec["matchConstraints"]["resourceRules"]) {
            errors.required("spec.matchConstraints.resourceRules");
        }
    }
    conditions(items(spec, "matchConditions"), errors);
    for (index, validation) in items(spec, "validations").iter().enumerate() {
        self::validation(&format!("spec.validations[{index}]"), validation, errors);
    }
    annotations(object, errors);
}

/// Checks a binding.
pub(super) fn binding(object: &Value, errors: &mut Errors) {
    let spec = &object["spec"];
    if spec["paramRef"].is_object() {
        param_ref("spec.paramRef", &spec["paramRef"], errors);
    }
    if spec["matchResources"].is_object() {
        match_resources("spec.matchResources", &spec["matchResources"], errors);
    }
    actions(items(spec, "validationActions"), errors);
}

fn param_kind(at: &str, kind: &Value, errors: &mut Errors) {
    let api_version = text(kind, "apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    if api_version.is_empty() {
        errors.required(format!("{at}.apiVersion"));
    } else if version.contains('/') {
        let detail = format!("unexpected GroupVersion string: {api_version}");
        errors.invalid(format!("{at}.apiVersion"), api_version, &detail);
    } else {
        let at = format!("{at}.apiVersion");
        let mut joined = |text: &str, problems: names::Problems| {
            if !problems.is_empty() {
                errors.invalid(at.as_str(), text, &problems.join(","));
            }
        };
        if !group.is_empty() {
            joined(group, names::subdomain(group));
        }
        joined(version, names::label_1035(version));
    }
    let name = text(kind, "kind");
    let problems = names::label_1035(&name.to_lowercase());
    if name.is_empty() {
        errors.required(format!("{at}.kind"));
    } else if !problems.is_empty() {
        let detail = format!(
            "may have mixed case, but should otherwise match: {}",
            problems.join(",")
        );
        errors.invalid(format!("{at}.kind"), name, &detail);
    }
}

fn param_ref(at: &str, reference: &Value, errors: &mut Errors) {
    let name = text(reference, "name");
    let selector = &reference["selector"];
    let excluded = "name and selector are mutually exclusive";
    errors.problems(&format!("{at}.name"), name, names::path_segment(name));
    if !name.is_empty() && selector.is_object() {
        errors.forbidden(format!("{at}.name"), excluded);
    }
    if selector.is_object() {
        selectors::selector(&format!("{at}.selector"), selector, errors);
        if !name.is_empty() {
            errors.forbidden(format!("{at}.selector"), excluded);
        }
    } else if name.is_empty() {
        errors.required_because(at, "one of name or selector must be specified");
    }
    let action = &reference["parameterNotFoundAction"];
    if is_empty(action) {
        errors.required(format!("{at}.parameterNotFoundAction"));
    } else {
        errors.one_of(
            format!("{at}.parameterNotFoundAction"),
            action,
            &["Deny", "Allow"],
        );
    }
}

fn match_resources(at: &str, resources: &Value, errors: &mut Errors) {
    errors.one_of(
        format!("{at}.matchPolicy"),
        &resources["matchPolicy"],
        &["Equivalent", "Exact"],
    );
    for name in ["namespaceSelector", "objectSelector"] {
        selectors::selector(&format!("{at}.{name}"), &resources[name], errors);
    }
    for name in ["resourceRules", "excludeResourceRules"] {
        for (index, rule) in items(resources, name).iter().enumerate() {
            self::rule(&format!("{at}.{name}[{index}]"), rule, errors);
        }
    }
}

fn rule(at: &str, rule: &Value, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for (index, name) in strings(rule, "resourceNames").into_iter().enumerate() {
        let at = format!("{at}.resourceNames[{index}]");
        errors.problems(&at, name, names::path_segment(name));
        if !seen.insert(name) {
            errors.duplicate(at, name);
        }
    }
    list(at, rule, "operations", "other operations", errors);
    for (index, operation) in items(rule, "operations").iter().enumerate() {
        errors.one_of(format!("{at}.operations[{index}]"), operation, &OPERATIONS);
    }
    list(at, rule, "apiGroups", "other API groups", errors);
    list(at, rule, "apiVersions", "other API versions", errors);
    present(at, rule, "apiVersions", errors);
    resources(at, rule, errors);
    errors.one_of(
        format!("{at}.scope"),
        &rule["scope"],
        &["*", "Cluster", "Namespaced"],
    );
}

/// Checks that a list has items, and none beside `*`.
fn list(at: &str, rule: &Value, name: &str, others: &str, errors: &mut Errors) {
    let values = strings(rule, name);
    if values.is_empty() {
        errors.required(format!("{at}.{name}"));
    }
    if values.len() > 1 && values.contains(&"*") {
        let detail = format!("if '*' is present, must not specify {others}");
        errors.invalid(format!("{at}.{name}"), rule[name].clone(), &detail);
    }
}

/// Checks that no item of a list is empty.
fn present(at: &str, rule: &Value, name: &str, errors: &mut Errors) {
    for (index, value) in strings(rule, name).into_iter().enumerate() {
        if value.is_empty() {
            errors.required(format!("{at}.{name}[{index}]"));
        }
    }
}

fn resources(at: &str, rule: &Value, errors: &mut Errors) {
    let resources = strings(rule, "resources");
    let at = format!("{at}.resources");
    if resources.is_empty() {
        errors.required(at.as_str());
    }
    let (mut with_all_parts, mut of_all) = (BTreeSet::new(), BTreeSet::new());
    for (index, resource) in resources.iter().enumerate() {
        let at = format!("{at}[{index}]");
        if resource.is_empty() {
            errors.required(at.as_str());
        }
        let Some((plural, part)) = resource.split_once('/') else {
            continue;
        };
        if with_all_parts.contains(plural) {
            let detail = format!("if '{plural}/*' is present, must not specify {resource}");
            errors.invalid(at.as_str(), *resource, &detail);
        }
        if of_all.contains(part) {
            let detail = format!("if '*/{part}' is present, must not specify {resource}");
            errors.invalid(at.as_str(), *resource, &detail);
        }
        if part == "*" {
            with_all_parts.insert(plural);
        }
        if plural == "*" {
            of_all.insert(part);
        }
    }
    let is_plain = |resource: &&str| *resource != "*" && !resource.contains('/');
    if resources.len() > 1 && resources.contains(&"*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        errors.invalid(at.as_str(), resources.clone(), detail);
    }
    if resources.contains(&"*") && resources.iter().any(is_plain) {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.invalid(at, resources, detail);
    }
}

fn conditions(conditions: &[Value], errors: &mut Errors) {
    if conditions.len() > CONDITIONS {
        let detail = format!("must have at most {CONDITIONS} items");
        let count = conditions.len();
        errors.add(FieldError::new(
            FieldErrorKind::TooMany,
            "spec.matchConditions",
            count,
            detail,
        ));
    }
    let mut seen = BTreeSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let at = format!("spec.matchConditions[{index}].name");
        let name = text(condition, "name");
        if name.is_empty() {
            errors.required(at);
        } else {
            errors.problems(&at, name, names::qualified(name));
            if !seen.insert(name) {
                errors.duplicate(at, name);
            }
        }
    }
}

fn validation(at: &str, validation: &Value, errors: &mut Errors) {
    let message = text(validation, "message");
    if !message.is_empty() && message.trim().is_empty() {
        let detail = "message must be non-empty if specified";
        errors.invalid(format!("{at}.message"), message, detail);
    } else if message.trim().contains(['\n', '\r']) {
        let detail = "message must not contain line breaks";
        errors.invalid(format!("{at}.message"), message, detail);
    }
    if !validation["reason"].is_null() {
        errors.one_of(format!("{at}.reason"), &validation["reason"], &REASONS);
    }
}

fn annotations(object: &Value, errors: &mut Errors) {
    let policy = text(&object["metadata"], "name");
    let annotations = items(&object["spec"], "auditAnnotations");
    if annotations.len() > ANNOTATIONS {
        let detail = format!("must not have more than {ANNOTATIONS} auditAnnotations");
        errors.invalid("spec.auditAnnotations", annotations.to_vec(), &detail);
    }
    let mut seen = BTreeSet::new();
    for (index, annotation) in annotations.iter().enumerate() {
        let at = format!("spec.auditAnnotations[{index}].key");
        let key = text(annotation, "key");
        let name = format!("{policy}/{key}");
        errors.problems(&at, &name, names::qualified(&name));
        if !seen.insert(key) {
            errors.duplicate(at, key);
        }
    }
}

fn actions(actions: &[Value], errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for (index, action) in actions.iter().enumerate() {
        let at = format!("spec.validationActions[{index}]");
        errors.one_of(at.as_str(), action, &["Audit", "Deny", "Warn"]);
        if !seen.insert(action.as_str()) {
            errors.duplicate(at, action.clone());
        }
    }
    if seen.contains(&Some("Deny")) && seen.contains(&Some("Warn")) {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                      response and headers serves no purpose)";
        errors.invalid("spec.validationActions", actions.to_vec(), detail);
    }
}

fn strings<'a>(rule: &'a Value, name: &str) -> Vec<&'a str> {
    let values = items(rule, name).iter();
    values.map(|value| value.as_str().unwrap_or_default()).collect()
}
