//! Defaults of workloads: deployments, sets, jobs and autoscalers.

use serde_json::{Value, json};

use super::fields::{each_item, is_empty, object_at, set_default, set_if_empty, text, with};
use super::{pod, storage};

const RETRIES_WITHOUT_END: i64 = i32::MAX as i64;

pub(super) fn deployment(object: &mut Value) {
    let spec = object_at(object, "spec");
    set_default(spec, "replicas", 1);
    set_default(spec, "revisionHistoryLimit", 10);
    set_default(spec, "progressDeadlineSeconds", 600);
    rolling(
        object_at(spec, "strategy"),
        &[("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))],
    );
    pod::template(object_at(spec, "template"));
}

pub(super) fn replica_set(object: &mut Value) {
    let spec = object_at(object, "spec");
    set_default(spec, "replicas", 1);
    pod::template(object_at(spec, "template"));
}

pub(super) fn replication_controller(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if !is_empty(&labels) {
        if is_empty(&object["spec"]["selector"]) {
            object_at(object, "spec")["selector"] = labels.clone();
        }
        if is_empty(&object["metadata"]["labels"]) {
            object_at(object, "metadata")["labels"] = labels;
        }
    }
    let spec = object_at(object, "spec");
    set_default(spec, "replicas", 1);
    with(spec, "template", pod::template);
}

pub(super) fn stateful_set(object: &mut Value) {
    let spec = object_at(object, "spec");
    set_default(spec, "podManagementPolicy", "OrderedReady");
    set_default(spec, "replicas", 1);
    set_default(spec, "revisionHistoryLimit", 10);
    let retention = object_at(spec, "persistentVolumeClaimRetentionPolicy");
    set_default(retention, "whenDeleted", "Retain");
    set_default(retention, "whenScaled", "Retain");
    rolling(object_at(spec, "updateStrategy"), &[("partition", json!(0))]);
    each_item(spec, "volumeClaimTemplates", |claim| {
        claim["apiVersion"] = "v1".into();
        claim["kind"] = "PersistentVolumeClaim".into();
        storage::persistent_volume_claim(claim);
    });
    pod::template(object_at(spec, "template"));
}

pub(super) fn daemon_set(object: &mut Value) {
    let spec = object_at(object, "spec");
    set_default(spec, "revisionHistoryLimit", 10);
    rolling(
        object_at(spec, "updateStrategy"),
        &[("maxUnavailable", json!(1)), ("maxSurge", json!(0))],
    );
    pod::template(object_at(spec, "template"));
}

fn rolling(strategy: &mut Value, steps: &[(&str, Value)]) {
    set_default(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate" {
        let update = object_at(strategy, "rollingUpdate");
        for (name, value) in steps {
            set_default(update, name, value.clone());
        }
    }
}

pub(super) fn job_spec(spec: &mut Value) {
    set_default(spec, "completionMode", "NonIndexed");
    set_default(spec, "suspend", false);
    set_default(spec, "manualSelector", false);
    let per_index = spec["backoffLimitPerIndex"].is_i64();
    set_default(
        spec,
        "backoffLimit",
        if per_index { RETRIES_WITHOUT_END } else { 6 },
    );
    if spec["completions"].is_null() && spec["parallelism"].is_null() {
        set_default(spec, "completions", 1);
    }
    set_default(spec, "parallelism", 1);
    let replacement = if spec["podFailurePolicy"].is_object() {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    set_default(spec, "podReplacementPolicy", replacement);
    with(spec, "podFailurePolicy", |policy| {
        each_item(policy, "rules", |rule| {
            each_item(rule, "onPodConditions", |condition| {
                set_if_empty(condition, "status", "True");
            });
        });
    });
    pod::template(object_at(spec, "template"));
}

/// Sets the defaults of a cron job. Of the defaults of its jobs, it only sets those of pods.
pub(super) fn cron_job(object: &mut Value) {
    let spec = object_at(object, "spec");
    set_default(spec, "concurrencyPolicy", "Allow");
    set_default(spec, "suspend", false);
    set_default(spec, "successfulJobsHistoryLimit", 3);
    set_default(spec, "failedJobsHistoryLimit", 1);
    let job = object_at(spec, "jobTemplate");
    object_at(job, "metadata");
    let job_spec = object_at(job, "spec");
    with(job_spec, "podFailurePolicy", |policy| {
        each_item(policy, "rules", |rule| {
            each_item(rule, "onPodConditions", |condition| {
                set_if_empty(condition, "status", "True");
            });
        });
    });
    pod::template(object_at(job_spec, "template"));
}

pub(super) fn autoscaler(version: &str, object: &mut Value) {
    let spec = object_at(object, "spec");
    set_default(spec, "minReplicas", 1);
    if version == "v1" {
        set_default(spec, "targetCPUUtilizationPercentage", 80);
        return;
    }
    if is_empty(&spec["metrics"]) {
        spec["metrics"] = json!([{
            "type": "Resource",
            "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 80 } },
        }]);
    }
    with(spec, "behavior", |behavior| {
        let up = object_at(behavior, "scaleUp");
        set_default(up, "stabilizationWindowSeconds", 0);
        set_default(up, "selectPolicy", "Max");
        let gently = json!([
            { "type": "Pods", "value": 4, "periodSeconds": 15 },
            { "type": "Percent", "value": 100, "periodSeconds": 15 },
        ]);
        set_default(up, "policies", gently);
        let down = object_at(behavior, "scaleDown");
        set_default(down, "selectPolicy", "Max");
        set_default(
            down,
            "policies",
            json!([{ "type": "Percent", "value": 100, "periodSeconds": 15 }]),
        );
    });
}
