//! Validates autoscalers and disruption budgets.

use serde_json::Value;

use super::errors::Errors;
use super::{names, selectors};
use crate::defaults::fields::{items, text};
use crate::status::FieldError;

/// Checks that a count or a percentage is not negative.
pub(super) fn scaled(field: &str, value: &Value, errors: &mut Errors) {
    match value {
        Value::String(text) => errors.problems(field, text, names::percent(text)),
        number => errors.not_negative(field, number),
    }
}

/// Checks that a percentage is at most 100.
pub(super) fn at_most_all(field: &str, value: &Value, errors: &mut Errors) {
    let percent = value
        .as_str()
        .and_then(|t| t.strip_suffix('%'))
        .and_then(|n| n.parse::<u64>().ok());
    if percent.is_some_and(|p| p > 100) {
        errors.invalid(field, value.clone(), "must not be greater than 100%");
    }
}

pub(super) fn autoscaler(spec: &Value, errors: &mut Errors) {
    let (least, most) = (
        spec["minReplicas"].as_i64(),
        spec["maxReplicas"].as_i64().unwrap_or(0),
    );
    if let Some(least) = least.filter(|n| *n < 1) {
        errors.invalid("spec.minReplicas", least, "must be greater than or equal to 1");
    }
    match most {
        0 => errors.required_because("spec.maxReplicas", "must be set and greater than 0"),
        ..0 => errors.invalid("spec.maxReplicas", most, "must be greater than or equal to 1"),
        1.. => {}
    }
    if least.is_some_and(|n| most < n) {
        errors.invalid(
            "spec.maxReplicas",
            most,
            "must be greater than or equal to `minReplicas`",
        );
    }
    let target = &spec["scaleTargetRef"];
    for name in ["kind", "name"] {
        match text(target, name) {
            "" => errors.required(format!("spec.scaleTargetRef.{name}")),
            value => errors.problems(
                &format!("spec.scaleTargetRef.{name}"),
                value,
                names::path_segment(value),
            ),
        }
    }
    if text(target, "apiVersion").is_empty() && text(target, "kind") != "ReplicationController" {
        errors.invalid(
            "spec.scaleTargetRef.apiVersion",
            "",
            "apiVersion must specify API group",
        );
    }
    let external = items(spec, "metrics")
        .iter()
        .any(|m| matches!(text(m, "type"), "Object" | "External"));
    if least == Some(0) && !external {
        let detail =
            "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.forbidden("spec.metrics", detail);
    }
}

pub(super) fn disruption_budget(spec: &Value, errors: &mut Errors) {
    let (least, most) = (&spec["minAvailable"], &spec["maxUnavailable"]);
    if !least.is_null() && !most.is_null() {
        let policy = &spec["unhealthyPodEvictionPolicy"];
        let shown = format!(
            "{{\"MinAvailable\":{least},\"Selector\":{},\"MaxUnavailable\":{most},\"UnhealthyPodEvictionPolicy\":{policy}}}",
            selectors::go_text(&spec["selector"])
        );
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.add(FieldError::invalid("spec", spec.clone(), detail).showing(shown));
    }
    for (name, value) in [("minAvailable", least), ("maxUnavailable", most)] {
        scaled(&format!("spec.{name}"), value, errors);
        at_most_all(&format!("spec.{name}"), value, errors);
    }
    if !spec["unhealthyPodEvictionPolicy"].is_null() {
        let policies = ["AlwaysAllow", "IfHealthyBudget"];
        errors.one_of(
            "spec.unhealthyPodEvictionPolicy",
            &spec["unhealthyPodEvictionPolicy"],
            &policies,
        );
    }
    selectors::selector("spec.selector", &spec["selector"], errors);
}
