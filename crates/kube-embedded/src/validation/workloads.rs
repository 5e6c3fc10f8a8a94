//! Validates workloads and their selectors.

use serde_json::Value;

use super::errors::Errors;
use super::scaling::{at_most_all, scaled};
use super::{pod, selectors};
use crate::defaults::fields::{copy, is_empty, items, text};
use crate::status::{FieldError, FieldErrorKind};

const MISMATCH: &str = "`selector` does not match template `labels`";

/// Validates the selector of a workload, and that it matches the template.
fn selected_template(kind: &str, spec: &Value, errors: &mut Errors) {
    let selector = &spec["selector"];
    if selector.is_object() {
        selectors::selector("spec.selector", selector, errors);
        if is_empty(selector) {
            let detail = format!("empty selector is invalid for {kind}");
            errors.add(FieldError::invalid("spec.selector", selector.clone(), detail).showing("{}"));
        }
    } else if kind != "daemonset" {
        errors.required("spec.selector");
    }
}

fn template(selector: &Value, template: &Value, errors: &mut Errors) {
    let labels = &template["metadata"]["labels"];
    let usable = !selector.is_object() || selectors::is_usable(selector);
    if usable && !is_empty_selector(selector) && !selectors::matches(selector, labels) {
        errors.invalid("spec.template.metadata.labels", labels.clone(), MISMATCH);
    }
    if !usable {
        errors.add(
            FieldError::invalid("spec.selector", selector.clone(), "invalid label selector")
                .showing(selectors::go_text(selector)),
        );
        return;
    }
    pod::template("spec.template", template, errors);
}

fn is_empty_selector(selector: &Value) -> bool {
    selector.is_object() && is_empty(selector)
}

fn always_restarts(template: &Value, errors: &mut Errors) {
    let policy = &template["spec"]["restartPolicy"];
    if matches!(text(&template["spec"], "restartPolicy"), "OnFailure" | "Never") {
        errors.one_of("spec.template.spec.restartPolicy", policy, &["Always"]);
    }
}

fn same_selector(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    if let Some(old) = old
        && new["spec"]["selector"] != old["spec"]["selector"]
    {
        let selector = new["spec"]["selector"].clone();
        let shown = selectors::go_text(&selector);
        errors.add(FieldError::invalid("spec.selector", selector, "field is immutable").showing(shown));
    }
}

fn is_nothing(value: &Value) -> bool {
    *value == 0 || *value == "0%"
}

pub(super) fn deployment(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let spec = &object["spec"];
    errors.not_negative("spec.replicas", &spec["replicas"]);
    selected_template("deployment", spec, errors);
    template(&spec["selector"], &spec["template"], errors);
    always_restarts(&spec["template"], errors);
    strategy(&spec["strategy"], errors);
    errors.not_negative("spec.minReadySeconds", &spec["minReadySeconds"]);
    errors.not_negative("spec.revisionHistoryLimit", &spec["revisionHistoryLimit"]);
    if let Some(deadline) = spec["progressDeadlineSeconds"].as_i64() {
        errors.not_negative("spec.progressDeadlineSeconds", &spec["progressDeadlineSeconds"]);
        if deadline <= spec["minReadySeconds"].as_i64().unwrap_or(0) {
            errors.invalid(
                "spec.progressDeadlineSeconds",
                deadline,
                "must be greater than minReadySeconds",
            );
        }
    }
    same_selector(object, old, errors);
}

fn strategy(strategy: &Value, errors: &mut Errors) {
    let rolling = &strategy["rollingUpdate"];
    match text(strategy, "type") {
        "Recreate" => {
            if rolling.is_object() {
                let detail = "may not be specified when strategy `type` is 'Recreate'";
                errors.forbidden("spec.strategy.rollingUpdate", detail);
            }
        }
        "RollingUpdate" => {
            let at = "spec.strategy.rollingUpdate";
            scaled(
                &format!("{at}.maxUnavailable"),
                &rolling["maxUnavailable"],
                errors,
            );
            scaled(&format!("{at}.maxSurge"), &rolling["maxSurge"], errors);
            if is_nothing(&rolling["maxUnavailable"]) && is_nothing(&rolling["maxSurge"]) {
                errors.invalid(
                    format!("{at}.maxUnavailable"),
                    rolling["maxUnavailable"].clone(),
                    "may not be 0 when `maxSurge` is 0",
                );
            }
            at_most_all(
                &format!("{at}.maxUnavailable"),
                &rolling["maxUnavailable"],
                errors,
            );
        }
        other => {
            let shown = go_strategy(other);
            errors.add(
                FieldError::not_supported("spec.strategy", strategy.clone(), &["Recreate", "RollingUpdate"])
                    .showing(shown),
            );
        }
    }
}

fn go_strategy(kind: &str) -> String {
    format!("{{\"Type\":{},\"RollingUpdate\":null}}", Value::from(kind))
}

pub(super) fn replica_set(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let spec = &object["spec"];
    errors.not_negative("spec.replicas", &spec["replicas"]);
    errors.not_negative("spec.minReadySeconds", &spec["minReadySeconds"]);
    selected_template("deployment", spec, errors);
    template(&spec["selector"], &spec["template"], errors);
    always_restarts(&spec["template"], errors);
    same_selector(object, old, errors);
}

/// Validates the counts in the status of a replica set.
pub(super) fn replica_status(status: &Value, errors: &mut Errors) {
    let count = |name: &str| status[name].as_i64().unwrap_or(0);
    for name in [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
    ] {
        errors.not_negative(format!("status.{name}"), &status[name]);
    }
    for name in ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] {
        if count(name) > count("replicas") {
            errors.invalid(
                format!("status.{name}"),
                count(name),
                "cannot be greater than status.replicas",
            );
        }
    }
    if count("availableReplicas") > count("readyReplicas") {
        let detail = "cannot be greater than readyReplicas";
        errors.invalid("status.availableReplicas", count("availableReplicas"), detail);
    }
}

pub(super) fn replication_controller(object: &Value, errors: &mut Errors) {
    let spec = &object["spec"];
    errors.not_negative("spec.minReadySeconds", &spec["minReadySeconds"]);
    if is_empty(&spec["selector"]) {
        errors.required("spec.selector");
    }
    errors.not_negative("spec.replicas", &spec["replicas"]);
    if !spec["template"].is_object() {
        errors.required("spec.template");
        return;
    }
    let selector = serde_json::json!({ "matchLabels": spec["selector"] });
    let labels = &spec["template"]["metadata"]["labels"];
    if !is_empty(&spec["selector"]) && !selectors::matches(&selector, labels) {
        errors.invalid("spec.template.metadata.labels", labels.clone(), MISMATCH);
    }
    pod::template("spec.template", &spec["template"], errors);
    always_restarts(&spec["template"], errors);
}

const STATEFUL_FIELDS: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

pub(super) fn stateful_set(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let spec = &object["spec"];
    let policy = text(spec, "podManagementPolicy");
    match policy {
        "" => errors.required("spec.podManagementPolicy"),
        "OrderedReady" | "Parallel" => {}
        other => errors.invalid(
            "spec.podManagementPolicy",
            other,
            "must be 'OrderedReady' or 'Parallel'",
        ),
    }
    let update = &spec["updateStrategy"];
    match text(update, "type") {
        "RollingUpdate" => errors.not_negative(
            "spec.updateStrategy.rollingUpdate.partition",
            &update["rollingUpdate"]["partition"],
        ),
        "OnDelete" => {}
        other => {
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            errors.add(
                FieldError::invalid("spec.updateStrategy", update.clone(), detail)
                    .showing(go_strategy(other)),
            );
        }
    }
    errors.not_negative("spec.replicas", &spec["replicas"]);
    selected_template("statefulset", spec, errors);
    template_with_claims(spec, errors);
    always_restarts(&spec["template"], errors);
    let Some(old) = old else { return };
    let mut allowed = spec.clone();
    for name in STATEFUL_FIELDS {
        copy(&old["spec"], &mut allowed, name);
    }
    if allowed != old["spec"] {
        errors.forbidden(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        );
    }
}

/// Validates the template of a stateful set, whose claims are volumes of its pods.
fn template_with_claims(spec: &Value, errors: &mut Errors) {
    let before = errors.0.len();
    template(&spec["selector"], &spec["template"], errors);
    let claims: Vec<&Value> = items(spec, "volumeClaimTemplates")
        .iter()
        .map(|c| &c["metadata"]["name"])
        .collect();
    let (kept, judged) = (errors.0.split_off(before), &mut errors.0);
    judged.extend(
        kept.into_iter()
            .filter(|e| e.kind != FieldErrorKind::NotFound || !claims.contains(&&e.value)),
    );
}

pub(super) fn daemon_set(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let spec = &object["spec"];
    same_selector(object, old, errors);
    selected_template("daemonset", spec, errors);
    template(&spec["selector"], &spec["template"], errors);
    always_restarts(&spec["template"], errors);
    if !spec["template"]["spec"]["activeDeadlineSeconds"].is_null() {
        let detail = "activeDeadlineSeconds in DaemonSet is not Supported";
        errors.forbidden("spec.template.spec.activeDeadlineSeconds", detail);
    }
    errors.not_negative("spec.minReadySeconds", &spec["minReadySeconds"]);
    let update = &spec["updateStrategy"];
    match text(update, "type") {
        "RollingUpdate" => {
            let rolling = &update["rollingUpdate"];
            let at = "spec.updateStrategy.rollingUpdate";
            for name in ["maxUnavailable", "maxSurge"] {
                scaled(&format!("{at}.{name}"), &rolling[name], errors);
            }
            let (few, many) = (
                is_nothing(&rolling["maxUnavailable"]),
                is_nothing(&rolling["maxSurge"]),
            );
            if few == many {
                let detail = if few {
                    "cannot be 0 when maxSurge is 0"
                } else {
                    "may not be set when maxUnavailable is non-zero"
                };
                let name = if few { "maxUnavailable" } else { "maxSurge" };
                errors.invalid(format!("{at}.{name}"), rolling[name].clone(), detail);
            }
        }
        "OnDelete" => {}
        other => {
            let allowed = ["RollingUpdate", "OnDelete"];
            let error = FieldError::not_supported("spec.updateStrategy", update.clone(), &allowed);
            errors.add(error.showing(go_strategy(other)));
        }
    }
    errors.not_negative("spec.revisionHistoryLimit", &spec["revisionHistoryLimit"]);
}

pub(super) fn controller_revision(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    errors.not_negative("revision", &object["revision"]);
    if object["data"].is_null() {
        errors.required_because("data", "data is mandatory");
    }
    if let Some(old) = old {
        errors.immutable("data", &object["data"], &old["data"]);
    }
}
