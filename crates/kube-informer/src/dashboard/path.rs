//! Paths to fields: `.spec.nodeName`, `.spec.containers[0].image`, `.metadata.annotations['example.com/team']`.

use std::borrow::Cow;

use serde_json::Value;

/// A path to fields; more than one where it goes through every element of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Element(usize),
    EveryElement,
}

impl Path {
    /// The path that a text names, and what of the text stands behind it.
    pub(super) fn parse(text: &str) -> Result<(Path, &str), String> {
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            if let Some(after) = rest.strip_prefix('.') {
                let end = after
                    .find(|char: char| !(char.is_ascii_alphanumeric() || "-_".contains(char)))
                    .unwrap_or(after.len());
                if end == 0 {
                    return Err(format!("a field's name is missing after \".\" in {text:?}"));
                }
                steps.push(Step::Field(after[..end].to_owned()));
                rest = &after[end..];
            } else if let Some(after) = rest.strip_prefix('[') {
                let (step, after) = Path::bracket(after)
                    .ok_or_else(|| format!("{text:?} has a \"[\" that is none of [0], [*] and ['name']"))?;
                steps.push(step);
                rest = after;
            } else {
                break;
            }
        }
        if steps.is_empty() {
            return Err(format!(
                "{text:?} does not begin with a field, such as .spec.nodeName"
            ));
        }
        Ok((Path(steps), rest))
    }

    fn bracket(text: &str) -> Option<(Step, &str)> {
        if let Some(after) = text.strip_prefix("*]") {
            return Some((Step::EveryElement, after));
        }
        for quote in ['\'', '"'] {
            if let Some(quoted) = text.strip_prefix(quote) {
                let (name, after) = quoted.split_once(quote)?;
                return Some((Step::Field(name.to_owned()), after.strip_prefix(']')?));
            }
        }
        let (number, after) = text.split_once(']')?;
        Some((Step::Element(number.parse().ok()?), after))
    }

    /// The values at the path.
    pub(super) fn find<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![value];
        for step in &self.0 {
            found = match step {
                Step::Field(name) => found.iter().filter_map(|value| value.get(name)).collect(),
                Step::Element(at) => found.iter().filter_map(|value| value.get(at)).collect(),
                Step::EveryElement => found
                    .iter()
                    .filter_map(|value| value.as_array())
                    .flatten()
                    .collect(),
            };
        }
        found.retain(|value| !value.is_null());
        found
    }
}

/// A value as people write it.
pub(super) fn printed(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Path;

    fn found(path: &str, value: &Value) -> Vec<String> {
        let (path, rest) = Path::parse(path).unwrap();
        assert_eq!(rest, "");
        path.find(value).into_iter().map(ToString::to_string).collect()
    }

    #[test]
    fn paths_lead_to_fields_and_elements() {
        let value =
            json!({ "spec": { "a-b": 1, "list": [{ "x": "p" }, { "x": "q" }, {}] }, "n": { "e.x/y": true } });
        assert_eq!(found(".spec.a-b", &value), ["1"]);
        assert_eq!(found(".spec.list[1].x", &value), ["\"q\""]);
        assert_eq!(found(".spec.list[*].x", &value), ["\"p\"", "\"q\""]);
        assert_eq!(found(".n['e.x/y']", &value), ["true"]);
        assert!(found(".spec.none[0].x", &value).is_empty());
    }

    #[test]
    fn what_is_no_path_is_refused_with_a_reason() {
        for text in ["", "spec", ".", ".a..b", ".a[", ".a[x]", ".a['x"] {
            assert!(Path::parse(text).is_err(), "{text}");
        }
    }
}
