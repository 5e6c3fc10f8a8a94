//! Differences between two states of an object, as short lines.

use kube_informer_dashboard::fields::Difference;
use serde_json::Value;

use super::colour::{Colour, Painter};
use super::table::on_one_line;

/// Maximum number of characters of a value.
const MAX_LENGTH: usize = 60;

/// Formats a difference as one line, for example `status.phase: Pending → Running`.
pub(crate) fn line(difference: &Difference, painter: Painter) -> String {
    let path = &difference.path;
    let path = path.strip_prefix('.').unwrap_or(path);
    let path: String = path.chars().map(on_one_line).collect();
    let path = painter.paint(Colour::Faint, &format!("{path}:"));
    let (old, new) = (difference.old.as_ref(), difference.new.as_ref());
    if difference.is_hidden {
        let what = match (old, new) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        };
        return format!("{path} {what}");
    }
    let side = |value: Option<&Value>, colour| match value {
        Some(value) => painter.paint(colour, &short(value)),
        None => painter.paint(Colour::Faint, "<none>"),
    };
    let (old, new) = (side(old, Colour::Deleted), side(new, Colour::Added));
    format!("{path} {old} → {new}")
}

/// Shortens a value to one line. Of a condition, only the status is shown.
fn short(value: &Value) -> String {
    let text = match value {
        Value::Object(fields) if fields.contains_key("type") && fields["type"].is_string() => {
            match fields.get("status") {
                Some(Value::String(status)) => status.clone(),
                _ => value.to_string(),
            }
        }
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut one_line = text.chars().map(on_one_line);
    let mut shown: String = one_line.by_ref().take(MAX_LENGTH).collect();
    if one_line.next().is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Pod, Secret};
    use kube_informer::WatchedResource;
    use kube_informer_dashboard::fields::differences;
    use serde_json::{Value, json};

    use super::{Painter, line};

    fn lines(old: &Value, new: &Value) -> Vec<String> {
        lines_of(&WatchedResource::of::<Pod>(&(), []), old, new)
    }

    fn lines_of(resource: &WatchedResource, old: &Value, new: &Value) -> Vec<String> {
        let found = differences(resource, old, new);
        found
            .iter()
            .map(|difference| line(difference, Painter::plain()))
            .collect()
    }

    #[test]
    fn shows_the_old_and_the_new_value_of_a_field() {
        let old = json!({ "status": { "phase": "Pending" }, "metadata": { "labels": { "a.b/c": "" } } });
        let new = json!({
            "status": { "phase": "Running" }, "spec": { "nodeName": "north" }, "metadata": { "labels": { "a.b/c": "d" } },
        });
        assert_eq!(
            lines(&old, &new),
            [
                "spec: <none> → {\"nodeName\":\"north\"}",
                "status.phase: Pending → Running",
                "metadata.labels['a.b/c']: \"\" → d",
            ]
        );
    }

    #[test]
    fn shows_the_status_of_a_new_condition() {
        let old = json!({ "status": { "phase": "Pending" } });
        let new = json!({ "status": {
            "conditions": [{ "type": "Ready", "status": "True", "lastProbeTime": null }], "phase": "Running",
        } });
        assert_eq!(
            lines(&old, &new),
            [
                "status.phase: Pending → Running",
                "status.conditions[Ready]: <none> → True"
            ]
        );
        assert_eq!(
            lines(&new, &old),
            [
                "status.phase: Running → Pending",
                "status.conditions[Ready]: True → <none>"
            ]
        );
    }

    #[test]
    fn long_values_are_shortened_to_one_line() {
        let old = json!({ "data": { "text": "short" } });
        let new = json!({ "data": { "text": format!("two\nlines {}", "x".repeat(100)) } });
        let line = &lines(&old, &new)[0];
        assert!(line.starts_with("data.text: short → two lines xxx"), "{line}");
        assert!(line.ends_with("x…") && line.chars().count() < 90, "{line}");
    }

    #[test]
    fn control_characters_of_a_name_are_replaced() {
        let new = json!({ "data": { "evil\x1b[2J\nname": 1 } });
        assert_eq!(
            lines(&json!({ "data": {} }), &new),
            ["data['evil [2J name']: <none> → 1"]
        );
    }

    #[test]
    fn shows_how_a_hidden_value_changed() {
        let secret = WatchedResource::of::<Secret>(&(), []);
        let of = |data: Value| json!({ "data": data });
        let old = of(json!({ "password": "aHVudGVyMg==", "user": "cm9vdA==" }));
        let new = of(json!({ "password": "aHVudGVyMw==", "tls.crt": "aHVudGVyMg==" }));
        assert_eq!(
            lines_of(&secret, &old, &new),
            [
                "data.password: changed",
                "data.user: removed",
                "data['tls.crt']: added"
            ]
        );
    }
}
