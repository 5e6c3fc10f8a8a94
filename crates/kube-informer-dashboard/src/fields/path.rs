//! Paths to fields: `.spec.nodeName`, `.spec.containers[*].image`, `.metadata.annotations['example.com/team']`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// A path to one or several values in an object, similar to kubectl's JSONPath.
///
/// - Names follow dots; the first dot is optional.
/// - `[*]` selects every element of a list, or every value of a map; `[0]` selects one element.
/// - A name that contains dots is written in brackets and quotes, `['example.com/team']`, or with its dots
///   escaped as `\.`. Any other character can be escaped, too.
/// - The path may be enclosed in braces.
///
/// ```
/// use kube_informer_dashboard::fields::FieldPath;
/// use serde_json::json;
///
/// let pod = json!({
///     "metadata": { "labels": { "example.com/team": "shop" } },
///     "spec": { "containers": [{ "image": "web:1" }, { "image": "log:2" }] },
/// });
/// let images: FieldPath = ".spec.containers[*].image".parse()?;
/// assert_eq!(images.find(&pod), ["web:1", "log:2"]);
///
/// for same in [".metadata.labels['example.com/team']", r"{.metadata.labels.example\.com/team}"] {
///     assert_eq!(same.parse::<FieldPath>()?.find(&pod), ["shop"]);
/// }
/// # Ok::<(), kube_informer_dashboard::fields::ParseFieldPathError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Every,
    Index(usize),
}

/// The error of a text that is not a valid [`FieldPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid field path {written:?}: {reason}")]
pub struct ParseFieldPathError {
    written: String,
    reason: Reason,
}

type Reason = Cow<'static, str>;

impl FieldPath {
    /// Returns the values at the path, without nulls.
    #[must_use]
    pub fn find<'a>(&self, object: &'a Value) -> Vec<&'a Value> {
        let mut found = Vec::new();
        collect(object, &self.steps, &mut found);
        found
    }

    /// Parses the path at the beginning of a text and returns the rest, for example a comparison such as `=north`.
    ///
    /// Characters of comparisons belong to a name only in brackets, in braces, or escaped.
    pub(crate) fn leading(text: &str) -> Result<(FieldPath, &str), ParseFieldPathError> {
        let read = match text.strip_prefix('{') {
            None => read(text, |char| char.is_whitespace() || "=!<>~".contains(char)),
            Some(inner) => read(inner, |char| char == '}')
                .and_then(|(steps, rest)| Ok((steps, rest.strip_prefix('}').ok_or("unclosed {")?))),
        };
        let (steps, rest) = read.map_err(|reason| ParseFieldPathError::new(text, reason))?;
        Ok((FieldPath { steps }, rest))
    }
}

fn collect<'a>(value: &'a Value, steps: &[Step], found: &mut Vec<&'a Value>) {
    let Some((step, rest)) = steps.split_first() else {
        found.extend((!value.is_null()).then_some(value));
        return;
    };
    match (step, value) {
        (Step::Field(name), Value::Object(fields)) => {
            if let Some(field) = fields.get(name) {
                collect(field, rest, found);
            }
        }
        (Step::Every, Value::Object(fields)) => {
            for field in fields.values() {
                collect(field, rest, found);
            }
        }
        (Step::Every, Value::Array(elements)) => {
            for element in elements {
                collect(element, rest, found);
            }
        }
        (Step::Index(index), Value::Array(elements)) => {
            if let Some(element) = elements.get(*index) {
                collect(element, rest, found);
            }
        }
        _ => {}
    }
}

impl ParseFieldPathError {
    fn new(written: &str, reason: Reason) -> ParseFieldPathError {
        ParseFieldPathError {
            written: written.to_owned(),
            reason,
        }
    }
}

impl FromStr for FieldPath {
    type Err = ParseFieldPathError;

    fn from_str(written: &str) -> Result<FieldPath, ParseFieldPathError> {
        let inner = match written.strip_prefix('{') {
            None => Ok(written),
            Some(inner) => inner.strip_suffix('}').ok_or("unclosed {".into()),
        };
        let read = inner.and_then(|inner| read(inner, |_| false));
        let (steps, _) = read.map_err(|reason| ParseFieldPathError::new(written, reason))?;
        Ok(FieldPath { steps })
    }
}

/// Parses steps until the end of the text or a character that ends names, and returns the rest.
fn read(text: &str, ends: fn(char) -> bool) -> Result<(Vec<Step>, &str), Reason> {
    let is_over = |rest: &str| rest.is_empty() || rest.starts_with(ends);
    let mut steps = Vec::new();
    let mut rest = text.strip_prefix('.').unwrap_or(text);
    if is_over(rest) {
        return Err("expected a name, for example .spec.nodeName".into());
    }
    loop {
        let (step, after) = match rest.strip_prefix('[') {
            Some(bracket) => bracketed(bracket)?,
            None => named(rest, ends)?,
        };
        steps.push(step);
        if is_over(after) {
            return Ok((steps, after));
        }
        rest = match after.strip_prefix('.') {
            Some(name) if is_over(name) => return Err("expected a name after the last dot".into()),
            Some(name) => name,
            None if after.starts_with('[') => after,
            None => return Err(format!("expected a dot or [ before {after:?}").into()),
        };
    }
}

/// Parses the step after a `[` and returns the text after its `]`.
fn bracketed(text: &str) -> Result<(Step, &str), Reason> {
    for (quote, end) in [('\'', "']"), ('"', "\"]")] {
        if let Some(quoted) = text.strip_prefix(quote) {
            let (name, rest) = quoted
                .split_once(end)
                .ok_or_else(|| format!("unclosed [{quote}, expected {end}"))?;
            return Ok((Step::Field(name.to_owned()), rest));
        }
    }
    let (inside, rest) = text.split_once(']').ok_or("unclosed [")?;
    let step = match inside.parse() {
        Ok(index) => Step::Index(index),
        Err(_) if inside == "*" => Step::Every,
        Err(_) => {
            let reason = format!("invalid [{inside}], expected *, a number or a quoted name in brackets");
            return Err(reason.into());
        }
    };
    Ok((step, rest))
}

/// Parses the name at the beginning and returns the rest.
fn named(text: &str, ends: fn(char) -> bool) -> Result<(Step, &str), Reason> {
    let mut name = String::new();
    let mut rest = "";
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            character if ".[".contains(character) || ends(character) => {
                rest = &text[at..];
                break;
            }
            character => name.push(character),
        }
    }
    if name.is_empty() {
        return Err("empty name; escape a dot that is part of a name as \\.".into());
    }
    Ok((Step::Field(name), rest))
}

/// Prints the path so that it can be parsed again, with quotes and escapes only where needed.
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| match step {
            Step::Field(name) => write_field(f, name),
            Step::Every => f.write_str("[*]"),
            Step::Index(index) => write!(f, "[{index}]"),
        })
    }
}

/// Writes a field step so that it can be parsed again.
pub(super) fn write_field(out: &mut impl fmt::Write, name: &str) -> fmt::Result {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_".contains(char);
    if !name.is_empty() && name.chars().all(is_plain) {
        write!(out, ".{name}")
    } else if !name.contains("']") {
        write!(out, "['{name}']")
    } else {
        out.write_char('.')?;
        name.chars().try_for_each(|char| write!(out, "\\{char}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::FieldPath;

    fn pod() -> Value {
        json!({
            "metadata": { "name": "web", "labels": { "app.kubernetes.io/name": "shop", "tier": "front" } },
            "spec": {
                "nodeName": "north", "hostNetwork": true, "priority": 7, "nothing": null, "odd-name_": "odd",
                "containers": [
                    { "image": "web:1", "ports": [{ "containerPort": 80 }, { "containerPort": 443 }] },
                    { "image": "log:2" },
                ],
            },
            "it's": { "a]b": 1, "']": 2, "a=b": 3, "": 4 },
        })
    }

    fn found(path: &str) -> String {
        let path: FieldPath = path.parse().expect("a path");
        let again: FieldPath = path.to_string().parse().expect("a printed path");
        assert_eq!(again, path, "{path}");
        json!(path.find(&pod())).to_string()
    }

    #[test]
    fn a_path_finds_values() {
        assert_eq!(found(".spec.nodeName"), r#"["north"]"#);
        assert_eq!(found("spec.nodeName"), r#"["north"]"#);
        assert_eq!(found("{.spec.nodeName}"), r#"["north"]"#);
        assert_eq!(found(".spec.odd-name_"), r#"["odd"]"#);
        assert_eq!(found(".spec.hostNetwork"), "[true]");
        assert_eq!(found(".spec.containers[0].ports[0]"), r#"[{"containerPort":80}]"#);
    }

    #[test]
    fn a_path_selects_elements_of_lists_and_maps() {
        assert_eq!(found(".spec.containers[*].image"), r#"["web:1","log:2"]"#);
        assert_eq!(found(".spec.containers[1].image"), r#"["log:2"]"#);
        assert_eq!(found(".spec.containers.[1].image"), r#"["log:2"]"#);
        assert_eq!(found(".spec.containers[*].ports[*].containerPort"), "[80,443]");
        assert_eq!(found(".metadata.labels[*]"), r#"["shop","front"]"#);
        assert_eq!(found("[*].nodeName"), r#"["north"]"#);
    }

    #[test]
    fn names_can_contain_any_character() {
        for path in [
            r".metadata.labels.app\.kubernetes\.io/name",
            ".metadata.labels['app.kubernetes.io/name']",
            r#".metadata.labels["app.kubernetes.io/name"]"#,
        ] {
            assert_eq!(found(path), r#"["shop"]"#, "{path}");
        }
        assert_eq!(found("['it's']['a]b']"), "[1]");
        assert_eq!(found(r#"it's["']"]"#), "[2]");
        assert_eq!(found("it's.a=b"), "[3]");
        assert_eq!(found("it's['']"), "[4]");
    }

    #[test]
    fn missing_fields_are_not_found() {
        for path in [
            ".spec.nothing",
            ".spec.nothing.more",
            ".spec.containers[7].image",
            ".spec.containers.image",
            ".spec.nodeName[0]",
            ".status.phase",
        ] {
            assert_eq!(found(path), "[]", "{path}");
        }
    }

    #[test]
    fn reports_invalid_paths() {
        for (path, expected) in [
            ("", "expected a name, for example .spec.nodeName"),
            (".", "expected a name, for example .spec.nodeName"),
            ("{}", "expected a name, for example .spec.nodeName"),
            (".spec..nodeName", "empty name"),
            (".spec.", "after the last dot"),
            (".spec[", "unclosed ["),
            (".spec['x", "unclosed ['"),
            (".spec['x]", "unclosed ['"),
            (".spec[x]", "expected *, a number or a quoted name"),
            (".spec[-1]", "expected *, a number or a quoted name"),
            (".spec[0]x", "expected a dot or [ before \"x\""),
            ("{.spec", "unclosed {"),
        ] {
            let error = path.parse::<FieldPath>().expect_err("invalid").to_string();
            assert!(error.contains(expected), "{path}: {error}");
            assert!(
                error.starts_with(&format!("invalid field path {path:?}: ")),
                "{path}: {error}"
            );
        }
    }

    #[test]
    fn a_path_can_precede_a_comparison() {
        for (text, path, rest) in [
            (".spec.nodeName", ".spec.nodeName", ""),
            (".spec.nodeName=north", ".spec.nodeName", "=north"),
            ("spec.nodeName != north", ".spec.nodeName", " != north"),
            (".spec.priority>6", ".spec.priority", ">6"),
            ("{.spec.nodeName}=north", ".spec.nodeName", "=north"),
            (".data['a=b']=.x", ".data['a=b']", "=.x"),
            (r".data.a\=b=.x", ".data['a=b']", "=.x"),
            ("{.data.a=b}!=}", ".data['a=b']", "!=}"),
            (".list[0]=[x]", ".list[0]", "=[x]"),
        ] {
            let (read, after) = FieldPath::leading(text).expect("a path");
            assert_eq!((read.to_string().as_str(), after), (path, rest), "{text}");
        }
        for text in ["", "=north", ".=north", ".spec.=north", "{.spec=north", ".a['x=y"] {
            assert!(FieldPath::leading(text).is_err(), "{text}");
        }
    }
}
