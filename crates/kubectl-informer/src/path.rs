//! Field paths: where in an object a value is, as in `.spec.nodeName` and `.spec.containers[*].image`.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// A path to one value of an object, or to several.
///
/// Names are separated by dots; a dot that belongs to a name is written `\.`. `[*]` is every element of a list, or every
/// value of a map, and `[0]` is one of them. The dot at the beginning may be left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    steps: Vec<Step>,
    written: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Every,
    At(usize),
}

impl Path {
    /// The values at the end of the path, as text. Only plain values count: a list or map has no text, and null is nothing.
    pub(crate) fn texts(&self, object: &Value) -> Vec<String> {
        let mut texts = Vec::new();
        collect(object, &self.steps, &mut texts);
        texts
    }
}

fn collect(value: &Value, steps: &[Step], texts: &mut Vec<String>) {
    let Some((step, rest)) = steps.split_first() else {
        texts.extend(text(value));
        return;
    };
    match (step, value) {
        (Step::Field(name), Value::Object(fields)) => {
            if let Some(field) = fields.get(name) {
                collect(field, rest, texts);
            }
        }
        (Step::Every, Value::Array(elements)) => {
            for element in elements {
                collect(element, rest, texts);
            }
        }
        (Step::Every, Value::Object(fields)) => {
            for field in fields.values() {
                collect(field, rest, texts);
            }
        }
        (Step::At(place), Value::Array(elements)) => {
            if let Some(element) = elements.get(*place) {
                collect(element, rest, texts);
            }
        }
        _ => {}
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

impl FromStr for Path {
    type Err = String;

    fn from_str(written: &str) -> Result<Path, String> {
        // kubectl writes paths in braces.
        let inner = written
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap_or(written);
        let mut steps = Vec::new();
        let mut rest = inner.strip_prefix('.').unwrap_or(inner);
        if rest.is_empty() {
            return Err("a field path is needed, as in .spec.nodeName".to_owned());
        }
        loop {
            if let Some(bracket) = rest.strip_prefix('[') {
                let Some((inside, after)) = bracket.split_once(']') else {
                    return Err(format!("the path {written:?} has a [ without a ]"));
                };
                steps.push(element(inside, written)?);
                rest = after;
            } else {
                let (name, after) = name(rest);
                if name.is_empty() {
                    return Err(format!(
                        "the path {written:?} has an empty name; write a dot that belongs to a name as \\."
                    ));
                }
                steps.push(Step::Field(name));
                rest = after;
            }
            rest = match rest.strip_prefix('.') {
                Some("") => {
                    return Err(format!("the path {written:?} ends with a dot"));
                }
                Some(after) => after,
                None if rest.is_empty() => break,
                None if rest.starts_with('[') => rest,
                None => return Err(format!("the path {written:?} needs a dot or a [ before {rest:?}")),
            };
        }
        Ok(Path {
            steps,
            written: written.to_owned(),
        })
    }
}

fn element(inside: &str, written: &str) -> Result<Step, String> {
    if inside == "*" {
        return Ok(Step::Every);
    }
    if let Ok(place) = inside.parse() {
        return Ok(Step::At(place));
    }
    let quoted = |mark| inside.strip_prefix(mark)?.strip_suffix(mark);
    match quoted('\'').or_else(|| quoted('"')) {
        Some(name) => Ok(Step::Field(name.to_owned())),
        None => Err(format!(
            "the path {written:?} has [{inside}]: in brackets stand *, a number or a quoted name"
        )),
    }
}

/// The name at the beginning, and what comes after it.
fn name(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '.' | '[' => return (name, &text[at..]),
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            character => name.push(character),
        }
    }
    (name, "")
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Path;

    fn texts(path: &str) -> Vec<String> {
        let pod = json!({
            "metadata": { "name": "web", "labels": { "app.kubernetes.io/name": "shop", "tier": "front" } },
            "spec": {
                "nodeName": "north", "hostNetwork": true, "priority": 7, "nothing": null,
                "containers": [
                    { "image": "web:1", "ports": [{ "containerPort": 80 }, { "containerPort": 443 }] },
                    { "image": "log:2" },
                ],
            },
        });
        path.parse::<Path>().expect("a path").texts(&pod)
    }

    #[test]
    fn a_path_finds_plain_values() {
        assert_eq!(texts(".spec.nodeName"), ["north"]);
        assert_eq!(texts("spec.nodeName"), ["north"]);
        assert_eq!(texts("{.spec.nodeName}"), ["north"]);
        assert_eq!(texts(".spec.hostNetwork"), ["true"]);
        assert_eq!(texts(".spec.priority"), ["7"]);
    }

    #[test]
    fn a_path_goes_into_lists_and_maps() {
        assert_eq!(texts(".spec.containers[*].image"), ["web:1", "log:2"]);
        assert_eq!(texts(".spec.containers[1].image"), ["log:2"]);
        assert_eq!(texts(".spec.containers[*].ports[*].containerPort"), ["80", "443"]);
        assert_eq!(texts(".metadata.labels[*]"), ["shop", "front"]);
    }

    #[test]
    fn names_may_hold_dots() {
        assert_eq!(texts(r".metadata.labels.app\.kubernetes\.io/name"), ["shop"]);
        assert_eq!(texts(".metadata.labels['app.kubernetes.io/name']"), ["shop"]);
    }

    #[test]
    fn what_is_not_there_has_no_text() {
        for path in [
            ".spec.nothing",
            ".spec.containers",
            ".spec.containers[7].image",
            ".status.phase",
        ] {
            assert!(texts(path).is_empty(), "{path}");
        }
    }

    #[test]
    fn a_bad_path_is_told_in_words() {
        for (path, words) in [
            ("", "is needed"),
            (".", "is needed"),
            (".spec..nodeName", "empty name"),
            (".spec.", "ends with a dot"),
            (".spec[", "without a ]"),
            (".spec[x]", "in brackets"),
            (".spec[0]x", "needs a dot"),
        ] {
            let told = path.parse::<Path>().expect_err("no path");
            assert!(told.contains(words), "{path}: {told}");
        }
    }
}
