//! What the demo prints: a greeting, one line per change, a summary at the end.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::DynamicObject;
use kube_embedded::Server;
use kube_informer::{Event, HandlerOptions, Object, SharedInformer};
use kube_informer_dashboard::DashboardServer;
use serde_json::Value;

use super::Outcome;

#[derive(Clone, Copy)]
enum Sign {
    Added,
    Updated,
    Deleted,
}

/// The view of the demo.
pub(super) struct Show {
    colours: bool,
}

impl Show {
    pub(super) fn open() -> Show {
        let colours = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Show { colours }
    }

    pub(super) fn welcome(&self, server: &Server, dashboard: &DashboardServer, kubeconfig: &Path) {
        let bold = |text: &str| self.paint("1", text);
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

    pub(super) fn farewell(&self, server: &Server) {
        line(&format!(
            "\n{} {} requests, {} pods, {} deployments, resource version {}",
            self.paint("1", "stopped after"),
            server.requests().len(),
            server.count("pods"),
            server.count("deployments.apps"),
            server.resource_version()
        ));
    }

    /// Prints every change, from the beginning, for as long as it is awaited.
    pub(super) async fn follow<const KINDS: usize>(
        &self,
        informers: [(&'static str, &SharedInformer<DynamicObject>); KINDS],
    ) -> Outcome {
        let mut streams = Vec::new();
        for (kind, informer) in informers {
            let options = HandlerOptions::new().name("print").every_event();
            let events = informer.events_with(options)?;
            informer.wait_for_sync(Duration::from_secs(30)).await?;
            for object in &informer.snapshot().sorted() {
                self.change(Sign::Added, kind, object, &state(kind, &object.data));
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
                self.change(Sign::Added, kind, object, &state(kind, &object.data));
            }
            Event::Updated { old, new } => {
                let what = changes(kind, &old.data, &new.data);
                if !what.is_empty() {
                    self.change(Sign::Updated, kind, new, &what);
                }
            }
            Event::Deleted(gone) => self.change(Sign::Deleted, kind, gone, &state(kind, &gone.data)),
            Event::Added { .. } => {}
        }
    }

    fn change(&self, sign: Sign, kind: &str, object: &Object<DynamicObject>, what: &str) {
        let (sign, colour) = match sign {
            Sign::Added => ("+", "32"),
            Sign::Updated => ("~", "33"),
            Sign::Deleted => ("-", "31"),
        };
        line(&format!(
            "{} {:>6} {:<10} {:<24} {what}",
            self.paint(colour, sign),
            self.paint("2", &object.version().to_string()),
            kind,
            object.key()
        ));
    }

    fn paint(&self, colour: &str, text: &str) -> String {
        if self.colours {
            format!("\u{1b}[{colour}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

fn line(text: &str) {
    // A reader that went away (`| head`) is no reason to complain.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// The fields worth a word, by kind.
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

fn changes(kind: &str, before: &Value, after: &Value) -> String {
    let pairs = facts(kind, before).into_iter().zip(facts(kind, after));
    let changed = pairs.filter(|((_, old), (_, new))| old != new);
    let show = |value: String| if value.is_empty() { "-".to_owned() } else { value };
    changed
        .map(|((name, old), (_, new))| format!("{name}: {} → {}", show(old), show(new)))
        .collect::<Vec<_>>()
        .join(", ")
}
