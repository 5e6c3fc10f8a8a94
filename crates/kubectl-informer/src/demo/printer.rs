//! The demo's output: an introduction, one line per change, and a summary.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::DynamicObject;
use kube_embedded::Server;
use kube_informer::{Event, HandlerOptions, Object, SharedInformer};
use kube_informer_dashboard::DashboardServer;
use serde_json::Value;

use super::DemoResult;
use crate::print::colour::{Colour, Painter};

#[derive(Clone, Copy)]
enum EventKind {
    Added,
    Updated,
    Deleted,
}

/// Prints the events of the demo's informers.
pub(super) struct EventPrinter {
    painter: Painter,
}

impl EventPrinter {
    pub(super) fn new() -> EventPrinter {
        EventPrinter {
            painter: Painter::auto(),
        }
    }

    pub(super) fn introduction(&self, server: &Server, dashboard: &DashboardServer, kubeconfig: &Path) {
        let bold = |text: &str| self.painter.paint(Colour::Heading, text);
        line(&format!(
            "{} Kubernetes {} at {}",
            bold("embedded API server:"),
            kube_embedded::KUBERNETES_VERSION,
            server.url()
        ));
        line(&format!(
            "{} informers, caches and queues live at {}",
            bold("dashboard:"),
            dashboard.url()
        ));
        line(&format!(
            "{} KUBECONFIG={} kubectl get pods -A --watch",
            bold("join in:"),
            kubeconfig.display()
        ));
        line(&format!("{} Ctrl-C\n", bold("stop:")));
    }

    pub(super) fn summary(&self, server: &Server) {
        line(&format!(
            "\n{} {} requests, {} pods, {} deployments, resource version {}",
            self.painter.paint(Colour::Heading, "stopped after"),
            server.requests().len(),
            server.count("pods"),
            server.count("deployments.apps"),
            server.resource_version()
        ));
    }

    /// Prints all objects and then every change, until it is dropped.
    pub(super) async fn follow<const KINDS: usize>(
        &self,
        informers: [(&'static str, &SharedInformer<DynamicObject>); KINDS],
    ) -> DemoResult {
        let mut streams = Vec::new();
        for (kind, informer) in informers {
            let options = HandlerOptions::new().name("print").every_event();
            let events = informer.events_with(options)?;
            informer.wait_for_sync(Duration::from_secs(30)).await?;
            for object in &informer.snapshot().sorted() {
                self.change(EventKind::Added, kind, object, &state(kind, &object.data));
            }
            streams.push(events.map(move |event| (kind, event)));
        }
        let mut events = futures::stream::select_all(streams);
        while let Some((kind, event)) = events.next().await {
            self.event(kind, &event);
        }
        Ok(())
    }

    fn event(&self, kind: &str, event: &Event<DynamicObject>) {
        match event {
            Event::Added {
                object,
                is_in_initial_list: false,
            } => {
                self.change(EventKind::Added, kind, object, &state(kind, &object.data));
            }
            Event::Updated { old, new } => {
                let differences = differences(kind, &old.data, &new.data);
                if !differences.is_empty() {
                    self.change(EventKind::Updated, kind, new, &differences);
                }
            }
            Event::Deleted(deleted) => {
                self.change(EventKind::Deleted, kind, deleted, &state(kind, &deleted.data));
            }
            Event::Added { .. } => {}
        }
    }

    fn change(&self, change: EventKind, kind: &str, object: &Object<DynamicObject>, details: &str) {
        let (sign, colour) = match change {
            EventKind::Added => ("+", Colour::Added),
            EventKind::Updated => ("~", Colour::Changed),
            EventKind::Deleted => ("-", Colour::Deleted),
        };
        let version = format!("{:>6}", object.version().to_string());
        line(&format!(
            "{} {} {:<10} {:<24} {details}",
            self.painter.paint(colour, sign),
            self.painter.paint(Colour::Faint, &version),
            kind,
            object.key()
        ));
    }
}

fn line(text: &str) {
    // The reader may be gone (`| head`), which is not an error.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Returns the fields that are printed, by kind.
fn facts(kind: &str, object: &Value) -> Vec<(&'static str, String)> {
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match kind {
        "Pod" => vec![
            ("phase", text(&object["status"]["phase"])),
            ("node", text(&object["spec"]["nodeName"])),
            ("image", text(&object["spec"]["containers"][0]["image"])),
        ],
        "Deployment" => vec![
            ("replicas", text(&object["spec"]["replicas"])),
            ("ready", text(&object["status"]["readyReplicas"])),
            (
                "image",
                text(&object["spec"]["template"]["spec"]["containers"][0]["image"]),
            ),
        ],
        "Node" => vec![("ready", text(&object["status"]["conditions"][0]["status"]))],
        _ => vec![
            ("of", text(&object["spec"]["of"])),
            ("phase", text(&object["status"]["phase"])),
        ],
    }
}

fn state(kind: &str, object: &Value) -> String {
    let facts = facts(kind, object)
        .into_iter()
        .filter(|(_, value)| !value.is_empty());
    facts
        .map(|(name, value)| format!("{name}={value}"))
        .collect::<Vec<_>>()
        .join(" ")
}

fn differences(kind: &str, before: &Value, after: &Value) -> String {
    let pairs = facts(kind, before).into_iter().zip(facts(kind, after));
    let changed = pairs.filter(|((_, old), (_, new))| old != new);
    let show = |value: String| if value.is_empty() { "-".to_owned() } else { value };
    changed
        .map(|((name, old), (_, new))| format!("{name}: {} → {}", show(old), show(new)))
        .collect::<Vec<_>>()
        .join(", ")
}
