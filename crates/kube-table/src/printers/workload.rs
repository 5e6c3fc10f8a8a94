//! Workloads: controllers, jobs, templates and disruption budgets.

use serde_json::Value;

use super::values;
use crate::age;
use crate::format::{containers, labels, qualified, quantity, selector, selector_cell};
use crate::row::{Row, text};

const TEMPLATE_CONTAINERS: &str = "/spec/template/spec/containers";

pub(super) fn pod_template(row: Row<'_>) -> Vec<Value> {
    let (names, images) = containers(row.items("/template/spec/containers"));
    values![
        row.name(),
        names,
        images,
        labels(row.entries("/template/metadata/labels"))
    ]
}

pub(super) fn replication_controller(row: Row<'_>) -> Vec<Value> {
    replicas(row, labels(row.entries("/spec/selector")))
}

pub(super) fn replica_set(row: Row<'_>) -> Vec<Value> {
    replicas(row, selector_cell(row.at("/spec/selector")))
}

fn replicas(row: Row<'_>, selector: String) -> Vec<Value> {
    let (names, images) = containers(row.items(TEMPLATE_CONTAINERS));
    values![
        row.name(),
        row.number("/spec/replicas"),
        row.number("/status/replicas"),
        row.number("/status/readyReplicas"),
        row.age(),
        names,
        images,
        selector,
    ]
}

pub(super) fn deployment(row: Row<'_>) -> Vec<Value> {
    let (names, images) = containers(row.items(TEMPLATE_CONTAINERS));
    values![
        row.name(),
        ready_of_desired(row),
        row.number("/status/updatedReplicas"),
        row.number("/status/availableReplicas"),
        row.age(),
        names,
        images,
        selector(row.at("/spec/selector")).unwrap_or_else(|| "<invalid>".into()),
    ]
}

pub(super) fn stateful_set(row: Row<'_>) -> Vec<Value> {
    let (names, images) = containers(row.items(TEMPLATE_CONTAINERS));
    values![row.name(), ready_of_desired(row), row.age(), names, images]
}

fn ready_of_desired(row: Row<'_>) -> String {
    format!(
        "{}/{}",
        row.number("/status/readyReplicas"),
        row.number("/spec/replicas")
    )
}

pub(super) fn daemon_set(row: Row<'_>) -> Vec<Value> {
    let (names, images) = containers(row.items(TEMPLATE_CONTAINERS));
    values![
        row.name(),
        row.number("/status/desiredNumberScheduled"),
        row.number("/status/currentNumberScheduled"),
        row.number("/status/numberReady"),
        row.number("/status/updatedNumberScheduled"),
        row.number("/status/numberAvailable"),
        labels(row.entries("/spec/template/spec/nodeSelector")),
        row.age(),
        names,
        images,
        selector_cell(row.at("/spec/selector")),
    ]
}

pub(super) fn controller_revision(row: Row<'_>) -> Vec<Value> {
    let controller = row
        .items("/metadata/ownerReferences")
        .iter()
        .find(|owner| owner["controller"] == true)
        .map_or_else(
            || "<none>".into(),
            |owner| {
                let group = text(owner, "apiVersion")
                    .split_once('/')
                    .map_or("", |(group, _)| group);
                let kind = qualified(text(owner, "kind"), group).to_lowercase();
                format!("{kind}/{}", text(owner, "name"))
            },
        );
    values![row.name(), controller, row.number("/revision"), row.age()]
}

pub(super) fn job(row: Row<'_>) -> Vec<Value> {
    let succeeded = row.number("/status/succeeded");
    let completions = match (row.at("/spec/completions"), row.number("/spec/parallelism")) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, workers @ 2..) => format!("{succeeded}/1 of {workers}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let (names, images) = containers(row.items(TEMPLATE_CONTAINERS));
    values![
        row.name(),
        job_status(row),
        completions,
        job_duration(row),
        row.age(),
        names,
        images,
        selector_cell(row.at("/spec/selector")),
    ]
}

fn job_status(row: Row<'_>) -> &'static str {
    if row.holds("Complete") {
        "Complete"
    } else if row.holds("Failed") {
        "Failed"
    } else if row.is_deleted() {
        "Terminating"
    } else if row.holds("Suspended") {
        "Suspended"
    } else if row.holds("FailureTarget") {
        "FailureTarget"
    } else if row.holds("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    }
}

fn job_duration(row: Row<'_>) -> String {
    let Some(start) = age::instant(row.text("/status/startTime")) else {
        return String::new();
    };
    let end = age::instant(row.text("/status/completionTime")).unwrap_or(row.now);
    age::human(age::seconds_between(start, end))
}

pub(super) fn cron_job(row: Row<'_>) -> Vec<Value> {
    let suspend = match row.flag("/spec/suspend") {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    };
    let last = match row.given("/status/lastScheduleTime") {
        Some(last) => age::since(last, row.now),
        None => "<none>".into(),
    };
    let (names, images) = containers(row.items("/spec/jobTemplate/spec/template/spec/containers"));
    values![
        row.name(),
        row.text("/spec/schedule"),
        row.given("/spec/timeZone").unwrap_or("<none>"),
        suspend,
        row.count("/status/active"),
        last,
        row.age(),
        names,
        images,
        selector_cell(row.at("/spec/jobTemplate/spec/selector")),
    ]
}

pub(super) fn pod_disruption_budget(row: Row<'_>) -> Vec<Value> {
    let limit = |pointer| row.at(pointer).map_or_else(|| "N/A".into(), quantity);
    values![
        row.name(),
        limit("/spec/minAvailable"),
        limit("/spec/maxUnavailable"),
        row.number("/status/disruptionsAllowed"),
        row.age(),
    ]
}
