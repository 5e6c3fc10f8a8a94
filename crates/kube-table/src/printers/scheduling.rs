//! Priorities and pod groups.

use serde_json::Value;

use super::values;
use crate::row::{Row, text};

pub(super) fn priority_class(row: Row<'_>) -> Vec<Value> {
    values![
        row.name(),
        row.number("/value"),
        row.flag("/globalDefault").unwrap_or(false),
        row.age(),
        row.text("/preemptionPolicy"),
    ]
}

pub(super) fn pod_group(row: Row<'_>) -> Vec<Value> {
    let policy = match row.at("/spec/schedulingPolicy/gang") {
        Some(_) => "Gang",
        None => "Basic",
    };
    // Of several conditions of one type, the last one counts here.
    let condition = |type_: &str| {
        row.items("/status/conditions")
            .iter()
            .rfind(|condition| condition["type"] == type_)
    };
    let status = match (condition("DisruptionTarget"), condition("PodGroupScheduled")) {
        (Some(disruption), _) => text(disruption, "reason"),
        (None, Some(scheduled)) if scheduled["status"] == "True" => "Scheduled",
        (None, Some(_)) => "Unschedulable",
        (None, None) => "Pending",
    };
    let workload = match row.at("/spec/podGroupTemplateRef") {
        Some(template) => text(&template["workload"], "workloadName"),
        None => "<none>",
    };
    values![row.name(), policy, workload, status, row.age()]
}
