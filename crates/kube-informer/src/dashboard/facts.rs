//! What is worth a word of an object in a list: a few fields that most kinds have, if it has them.

use serde_json::{Value, json};

use crate::fields::{FieldPath, printed};

/// Names and where they are found. Of one name the first that is there counts.
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

/// The facts of an object, as pairs of a name and a text.
pub(super) fn facts(shown: &Value) -> Value {
    let mut told: Vec<(&str, String)> = Vec::new();
    let ready = shown["status"]["conditions"].as_array().into_iter().flatten();
    let ready = ready.filter(|condition| condition["type"] == "Ready");
    told.extend(ready.map(|condition| ("ready", printed(&condition["status"]).into_owned())));
    for (name, path) in FACTS {
        let Ok(path) = path.parse::<FieldPath>() else {
            continue;
        };
        if let Some(value) = path.find(shown).first()
            && told.iter().all(|(known, _)| *known != name)
        {
            told.push((name, printed(value).into_owned()));
        }
    }
    json!(told)
}
