//! What the demo prints: a greeting, one line per change, a summary at the end.

use std::collections::HashMap;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DynamicObject, WatchEvent, WatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use kube_embedded::Server;
use serde_json::Value;

use super::Outcome;

/// The kinds that are shown.
const KINDS: [(&str, &str, &str, &str); 4] = [
    ("", "v1", "Node", "nodes"),
    ("", "v1", "Pod", "pods"),
    ("apps", "v1", "Deployment", "deployments"),
    ("demo.example", "v1", "Backup", "backups"),
];

/// The view of the demo.
pub(super) struct Show {
    colours: bool,
}

impl Show {
    pub(super) fn open() -> Show {
        let colours = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Show { colours }
    }

    pub(super) fn welcome(&self, server: &Server, kubeconfig: &Path) {
        let bold = |text: &str| self.paint("1", text);
        line(&format!(
            "{} Kubernetes {} at {}",
            bold("embedded API server:"),
            kube_embedded::KUBERNETES_VERSION,
            server.url()
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

    /// Prints every change, from the beginning, until the server ends.
    pub(super) async fn follow(&self, client: Client) -> Outcome {
        let mut streams = Vec::new();
        for (group, version, kind, plural) in KINDS {
            let resource =
                ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
            let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
            let events = api.watch(&WatchParams::default().timeout(290), "0").await?;
            streams.push(events.map_ok(move |event| (kind, event)).boxed());
        }
        let mut known: HashMap<String, Value> = HashMap::new();
        let mut events = futures::stream::select_all(streams);
        while let Some((kind, event)) = events.try_next().await? {
            self.event(kind, event, &mut known);
        }
        Ok(())
    }

    fn event(&self, kind: &str, event: WatchEvent<DynamicObject>, known: &mut HashMap<String, Value>) {
        let (sign, colour, object) = match event {
            WatchEvent::Added(object) => ("+", "32", object),
            WatchEvent::Modified(object) => ("~", "33", object),
            WatchEvent::Deleted(object) => ("-", "31", object),
            WatchEvent::Bookmark(_) => return,
            WatchEvent::Error(status) => {
                return line(&self.paint("31", &format!("! {}", status.message)));
            }
        };
        let name = match object.namespace() {
            Some(namespace) => format!("{namespace}/{}", object.name_any()),
            None => object.name_any(),
        };
        let key = format!("{kind} {name}");
        let before = if sign == "-" {
            known.remove(&key)
        } else {
            known.insert(key, object.data.clone())
        };
        let what = match (sign, before) {
            ("~", Some(before)) => changes(kind, &before, &object.data),
            _ => state(kind, &object.data),
        };
        if sign == "~" && what.is_empty() {
            return;
        }
        let version = object.resource_version().unwrap_or_default();
        line(&format!(
            "{} {:>6} {:<10} {:<24} {what}",
            self.paint(colour, sign),
            self.paint("2", &version),
            kind,
            name
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
