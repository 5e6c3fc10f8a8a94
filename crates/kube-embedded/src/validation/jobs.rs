//! Validates jobs and cron jobs.

use serde_json::Value;

use super::errors::Errors;
use super::{names, pod};
use crate::defaults::fields::text;

pub(super) fn job(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let spec = &object["spec"];
    job_spec("spec", spec, errors);
    let last = spec["completions"]
        .as_i64()
        .filter(|n| *n > 0 && spec["completionMode"] == "Indexed");
    if let Some(last) = last {
        let name = text(&object["metadata"], "name");
        let pod_name = format!("{name}-{}", last - 1);
        if !names::label(&pod_name).is_empty() {
            let detail = format!("will not able to create pod with invalid DNS label: {pod_name}");
            errors.invalid("metadata.name", name, &detail);
        }
    }
    let Some(old) = old else { return };
    let before = &old["spec"];
    let suspended = before["suspend"] == true;
    for name in [
        "completions",
        "selector",
        "template",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        if name == "template" && suspended || name == "completions" && spec["completionMode"] == "Indexed" {
            continue;
        }
        errors.immutable(format!("spec.{name}"), &spec[name], &before[name]);
    }
}

fn job_spec(field: &str, spec: &Value, errors: &mut Errors) {
    for name in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
    ] {
        errors.not_negative(format!("{field}.{name}"), &spec[name]);
    }
    if spec["completionMode"] == "Indexed" && spec["completions"].is_null() {
        let detail = "when completion mode is Indexed";
        errors.required_because(format!("{field}.completions"), detail);
    }
    if !spec["completionMode"].is_null() {
        let modes = ["NonIndexed", "Indexed"];
        errors.one_of(format!("{field}.completionMode"), &spec["completionMode"], &modes);
    }
    errors.not_negative(
        format!("{field}.backoffLimitPerIndex"),
        &spec["backoffLimitPerIndex"],
    );
    let restart = format!("{field}.template.spec.restartPolicy");
    pod::template(&format!("{field}.template"), &spec["template"], errors);
    match text(&spec["template"]["spec"], "restartPolicy") {
        "Never" | "OnFailure" => {}
        policy if !matches!(policy, "" | "Always") => {
            errors.one_of(
                restart,
                &spec["template"]["spec"]["restartPolicy"],
                &["OnFailure", "Never"],
            );
        }
        _ => errors.required_because(restart, "valid values: \"OnFailure\", \"Never\""),
    }
}

pub(super) fn cron_job(object: &Value, errors: &mut Errors) {
    let spec = &object["spec"];
    let name = text(&object["metadata"], "name");
    if name.len() > 52 {
        errors.invalid("metadata.name", name, "must be no more than 52 characters");
    }
    match text(spec, "schedule") {
        "" => errors.required("spec.schedule"),
        schedule if !schedule.starts_with('@') => {
            let fields: Vec<&str> = schedule.split_whitespace().collect();
            if fields.len() != 5 {
                let detail = format!(
                    "expected exactly 5 fields, found {}: [{}]",
                    fields.len(),
                    fields.join(" ")
                );
                errors.invalid("spec.schedule", schedule, &detail);
            }
        }
        _ => {}
    }
    errors.not_negative("spec.startingDeadlineSeconds", &spec["startingDeadlineSeconds"]);
    errors.one_of(
        "spec.concurrencyPolicy",
        &spec["concurrencyPolicy"],
        &["Allow", "Forbid", "Replace"],
    );
    job_spec("spec.jobTemplate.spec", &spec["jobTemplate"]["spec"], errors);
    for name in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        errors.not_negative(format!("spec.{name}"), &spec[name]);
    }
}
