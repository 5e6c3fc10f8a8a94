//! Autoscalers with their metrics and targets.

use serde_json::{Map, Value};

use super::values;
use crate::format::{first_of, quantity};
use crate::row::{Row, text};

pub(super) fn scale(row: Row<'_>) -> Vec<Value> {
    values![
        row.name(),
        row.number("/spec/replicas"),
        row.number("/status/replicas"),
        row.age()
    ]
}

pub(super) fn horizontal_pod_autoscaler(row: Row<'_>) -> Vec<Value> {
    let reference = format!(
        "{}/{}",
        row.text("/spec/scaleTargetRef/kind"),
        row.text("/spec/scaleTargetRef/name")
    );
    let (goals, measures) = if row.version == "v1" {
        (goals_of_v1(row), measures_of_v1(row))
    } else {
        (
            row.items("/spec/metrics").to_vec(),
            row.items("/status/currentMetrics").to_vec(),
        )
    };
    let least = row
        .at("/spec/minReplicas")
        .map_or_else(|| "<unset>".into(), quantity);
    values![
        row.name(),
        reference,
        targets(&goals, &measures),
        least,
        row.number("/spec/maxReplicas"),
        row.number("/status/currentReplicas"),
        row.age(),
    ]
}

fn targets(goals: &[Value], measures: &[Value]) -> String {
    if goals.is_empty() {
        return "<none>".into();
    }
    let shown: Vec<String> = goals
        .iter()
        .enumerate()
        .map(|(place, goal)| target(goal, measures.get(place).unwrap_or(&Value::Null)))
        .collect();
    first_of(&shown, 2, ", ")
}

/// Formats the current and the target value of a metric.
fn target(goal: &Value, measure: &Value) -> String {
    let Some(source) = source(goal) else {
        return "<unknown type>".into();
    };
    let (wanted, measured) = (&goal[source]["target"], &measure[source]);
    let current = &measured["current"];
    let average = !wanted["averageValue"].is_null();
    let unknown = || "<unknown>".to_owned();
    match source {
        "external" | "object" if average => {
            let now = if current["averageValue"].is_null() {
                unknown()
            } else {
                amount(&current["averageValue"])
            };
            format!("{now}/{} (avg)", amount(&wanted["averageValue"]))
        }
        "external" | "object" => {
            let now = if measured.is_null() {
                unknown()
            } else {
                amount(&current["value"])
            };
            format!("{now}/{}", amount(&wanted["value"]))
        }
        "pods" => {
            let now = if measured.is_null() {
                unknown()
            } else {
                amount(&current["averageValue"])
            };
            format!("{now}/{}", amount(&wanted["averageValue"]))
        }
        _ => {
            let name = text(&goal[source], "name");
            if average {
                let now = if measured.is_null() {
                    unknown()
                } else {
                    amount(&current["averageValue"])
                };
                return format!("{name}: {now}/{}", amount(&wanted["averageValue"]));
            }
            let percent = |value: &Value, otherwise: &str| {
                value
                    .as_i64()
                    .map_or_else(|| otherwise.to_owned(), |share| format!("{share}%"))
            };
            let now = percent(&current["averageUtilization"], "<unknown>");
            format!(
                "{name}: {now}/{}",
                percent(&wanted["averageUtilization"], "<auto>")
            )
        }
    }
}

/// Formats a quantity that the kube-apiserver prints through a pointer.
fn amount(value: &Value) -> String {
    if value.is_null() {
        "<nil>".into()
    } else {
        quantity(value)
    }
}

/// Returns the field that contains a metric of this type.
fn source(metric: &Value) -> Option<&'static str> {
    Some(match text(metric, "type") {
        "External" => "external",
        "Object" => "object",
        "Pods" => "pods",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return None,
    })
}

/// `autoscaling/v1` has one field for the CPU and keeps every other metric in an annotation.
fn goals_of_v1(row: Row<'_>) -> Vec<Value> {
    let processor = row
        .at("/spec/targetCPUUtilizationPercentage")
        .map(|share| processor("target", share));
    let others = annotated(row, "autoscaling.alpha.kubernetes.io/metrics", "target");
    processor.into_iter().chain(others).collect()
}

fn measures_of_v1(row: Row<'_>) -> Vec<Value> {
    let all = annotated(row, "autoscaling.alpha.kubernetes.io/current-metrics", "current");
    if !all.is_empty() {
        return all;
    }
    row.at("/status/currentCPUUtilizationPercentage")
        .map(|share| processor("current", share))
        .into_iter()
        .collect()
}

fn processor(side: &str, share: &Value) -> Value {
    serde_json::json!({ "type": "Resource", "resource": { "name": "cpu", side: { "averageUtilization": share } } })
}

/// Returns metrics from an annotation, in the format of `autoscaling/v2`.
fn annotated(row: Row<'_>, key: &str, side: &str) -> Vec<Value> {
    let metrics: Vec<Value> = row
        .annotation(key)
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    metrics.iter().map(|metric| modern(metric, side)).collect()
}

fn modern(metric: &Value, side: &str) -> Value {
    let Some(source) = source(metric) else {
        return metric.clone();
    };
    let old = &metric[source];
    let mut values = Map::new();
    let mut take = |new: &str, field: &str| {
        if !old[field].is_null() {
            values.insert(new.to_owned(), old[field].clone());
        }
    };
    take("averageUtilization", &format!("{side}AverageUtilization"));
    take("averageValue", &format!("{side}AverageValue"));
    take("averageValue", "averageValue");
    take("value", &format!("{side}Value"));
    serde_json::json!({
        "type": metric["type"],
        source: { "name": old["name"], side: values },
    })
}
