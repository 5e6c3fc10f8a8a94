//! The row of a pod. Its status summarises the states of all containers.

use jiff::Timestamp;
use serde_json::Value;

use super::values;
use crate::age;
use crate::row::{Row, number, text};

pub(super) fn pod(row: Row<'_>) -> Vec<Value> {
    let summary = summarise(row);
    let ready = format!("{}/{}", summary.ready, summary.containers);
    let restarts = match summary.restarts.last {
        Some(last) if summary.restarts.count != 0 => {
            format!("{} ({} ago)", summary.restarts.count, age::elapsed(last, row.now))
        }
        _ => summary.restarts.count.to_string(),
    };
    let ip = row.text_or("/status/podIPs/0/ip", "<none>");
    let node = row.text_or("/spec/nodeName", "<none>");
    let nominated = row.text_or("/status/nominatedNodeName", "<none>");
    let gates = readiness_gates(row);
    values![
        row.name(),
        ready,
        summary.reason,
        restarts,
        row.age(),
        ip,
        node,
        nominated,
        gates
    ]
}

struct Summary {
    ready: usize,
    containers: usize,
    reason: String,
    restarts: Restarts,
}

/// Number of container restarts, and the time of the last termination.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, status: &Value) {
        self.count += number(status, "restartCount");
        let ended = age::instant(text(&status["lastState"]["terminated"], "finishedAt"));
        self.last = self.last.max(ended);
    }
}

fn summarise(row: Row<'_>) -> Summary {
    let inits = row.items("/spec/initContainers");
    let mut summary = Summary {
        ready: 0,
        containers: row.items("/spec/containers").len()
            + inits.iter().filter(|container| is_sidecar(container)).count(),
        reason: row
            .text_or("/status/reason", row.text("/status/phase"))
            .to_owned(),
        restarts: Restarts::default(),
    };
    let gated =
        |condition: &&Value| condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated";
    if row
        .items("/status/conditions")
        .iter()
        .any(|condition| gated(&condition))
    {
        summary.reason = "SchedulingGated".into();
    }

    let (sidecars, initializing) = init_containers(row, inits, &mut summary);
    if !initializing || row.holds("Initialized") {
        summary.restarts = sidecars;
        main_containers(row, &mut summary);
    }
    if row.is_deleted() {
        if row.text("/status/reason") == "NodeLost" {
            summary.reason = "Unknown".into();
        } else if !matches!(row.text("/status/phase"), "Failed" | "Succeeded") {
            summary.reason = "Terminating".into();
        }
    }
    summary
}

/// Checks the init containers up to the first that is not done. Returns the number of sidecar restarts, and
/// whether the pod is still initialising.
fn init_containers(row: Row<'_>, inits: &[Value], summary: &mut Summary) -> (Restarts, bool) {
    let mut sidecars = Restarts::default();
    for (place, status) in row.items("/status/initContainerStatuses").iter().enumerate() {
        let sidecar = inits
            .iter()
            .rfind(|container| container["name"] == status["name"])
            .is_some_and(is_sidecar);
        summary.restarts.add(status);
        if sidecar {
            sidecars.add(status);
        }
        let terminated = &status["state"]["terminated"];
        if terminated.is_object() && number(terminated, "exitCode") == 0 {
            continue;
        }
        if sidecar && status["started"] == true {
            summary.ready += usize::from(status["ready"] == true);
            continue;
        }
        let waiting = text(&status["state"]["waiting"], "reason");
        summary.reason = if terminated.is_object() {
            format!("Init:{}", how_it_ended(terminated))
        } else if !matches!(waiting, "" | "PodInitializing") {
            format!("Init:{waiting}")
        } else {
            format!("Init:{place}/{}", inits.len())
        };
        return (sidecars, true);
    }
    (sidecars, false)
}

fn main_containers(row: Row<'_>, summary: &mut Summary) {
    let mut running = false;
    let mut failure = None;
    // In reverse order, so that the first container determines the status.
    for status in row.items("/status/containerStatuses").iter().rev() {
        summary.restarts.add(status);
        let state = &status["state"];
        let waiting = text(&state["waiting"], "reason");
        let terminated = &state["terminated"];
        if !waiting.is_empty() {
            waiting.clone_into(&mut summary.reason);
        } else if terminated.is_object() {
            summary.reason = how_it_ended(terminated);
            if number(terminated, "exitCode") != 0 {
                failure = Some(summary.reason.clone());
            }
        } else if status["ready"] == true && state["running"].is_object() {
            running = true;
            summary.ready += 1;
        }
    }
    if summary.reason == "Completed" {
        let ready = row
            .items("/status/conditions")
            .iter()
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
        if running && ready {
            summary.reason = "Running".into();
        } else if let Some(failure) = failure {
            summary.reason = failure;
        } else if running {
            summary.reason = "NotReady".into();
        }
    }
}

fn how_it_ended(terminated: &Value) -> String {
    match (text(terminated, "reason"), number(terminated, "signal")) {
        ("", 0) => format!("ExitCode:{}", number(terminated, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn readiness_gates(row: Row<'_>) -> String {
    let gates = row.items("/spec/readinessGates");
    if gates.is_empty() {
        return "<none>".into();
    }
    let open = gates
        .iter()
        .filter(|gate| row.holds(text(gate, "conditionType")))
        .count();
    format!("{open}/{}", gates.len())
}
