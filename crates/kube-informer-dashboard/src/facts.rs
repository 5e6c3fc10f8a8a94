//! The facts in a row of an object list: a few fields that many kinds have.

use serde_json::{Value, json};

use crate::fields::{FieldPath, printed};

/// Names and paths of the facts. The first path that exists determines the value of a name.
const FACTS: [(&str, &str); 9] = [
    ("phase", ".status.phase"),
    ("node", ".spec.nodeName"),
    ("ready", ".status.readyReplicas"),
    ("replicas", ".spec.replicas"),
    ("type", ".type"),
    ("type", ".spec.type"),
    ("address", ".spec.clusterIP"),
    ("image", ".spec.containers[0].image"),
    ("image", ".spec.template.spec.containers[0].image"),
];

/// Returns the facts of an object as pairs of name and text.
pub(crate) fn facts(shown: &Value) -> Value {
    let mut facts: Vec<(&str, String)> = Vec::new();
    let ready = shown["status"]["conditions"].as_array().into_iter().flatten();
    let ready = ready.filter(|condition| condition["type"] == "Ready");
    facts.extend(ready.map(|condition| ("ready", printed(&condition["status"]).into_owned())));
    for (name, path) in FACTS {
        let Ok(path) = path.parse::<FieldPath>() else {
            continue;
        };
        if let Some(value) = path.find(shown).first()
            && facts.iter().all(|(known, _)| *known != name)
        {
            facts.push((name, printed(value).into_owned()));
        }
    }
    json!(facts)
}
