//! Field selectors, such as `metadata.name=x,status.phase!=Running`.

use std::fmt::Write as _;

use crate::status::{Result, Status};
use crate::store::Stored;

/// A field selector; without terms, it selects everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Debug, Clone)]
struct Term {
    field: FieldRef,
    equal: bool,
    value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldRef {
    Name,
    Namespace,
    /// Index in the kind's list of selectable fields.
    Kind(usize),
}

/// The fields of a kind that a selector may use besides `metadata.name` and `metadata.namespace`.
#[derive(Debug, Clone)]
pub(crate) struct SelectableFields<'a> {
    pub(crate) fields: &'a [String],
    /// Whether the kind supports `metadata.namespace`.
    pub(crate) namespaced: bool,
    /// The error message for unknown fields.
    pub(crate) label: UnknownFieldMessage,
}

/// The error message of a kind for unknown fields.
#[derive(Debug, Clone)]
pub(crate) enum UnknownFieldMessage {
    /// `"x" is not a known field selector: only "metadata.name", "metadata.namespace"`.
    Plain,
    /// `field label not supported: x`.
    Short,
    /// `field label not supported for apps/v1, Kind=X: x`.
    Kind(String),
}

impl FieldSelector {
    pub(crate) fn parse(text: &str, allowed: &SelectableFields<'_>) -> Result<FieldSelector> {
        let mut terms = Vec::new();
        for part in split_unescaped(text) {
            if part.is_empty() {
                continue;
            }
            let (name, equal, value) = split_term(part).ok_or_else(|| {
                Status::bad_request(format!("invalid selector: '{text}'; can't understand '{part}'"))
            })?;
            let value = unescape(value).ok_or_else(|| {
                Status::bad_request(format!(
                    "invalid field selector: invalid escape sequence in value: {value}"
                ))
            })?;
            terms.push(Term {
                field: find(name, allowed)?,
                equal,
                value,
            });
        }
        Ok(FieldSelector { terms })
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.terms.iter().all(|term| {
            let value = match term.field {
                FieldRef::Name => object.key.name(),
                FieldRef::Namespace => object.key.namespace().unwrap_or_default(),
                FieldRef::Kind(at) => object.fields.get(at).map_or("", |v| v),
            };
            (value == term.value) == term.equal
        })
    }
}

fn find(name: &str, allowed: &SelectableFields<'_>) -> Result<FieldRef> {
    match name {
        "metadata.name" => return Ok(FieldRef::Name),
        "metadata.namespace" if allowed.namespaced || matches!(allowed.label, UnknownFieldMessage::Plain) => {
            return Ok(FieldRef::Namespace);
        }
        _ => {}
    }
    if let Some(at) = allowed.fields.iter().position(|f| f == name) {
        return Ok(FieldRef::Kind(at));
    }
    let mut message = String::new();
    let _ = match &allowed.label {
        UnknownFieldMessage::Plain => write!(
            message,
            "{name:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        ),
        UnknownFieldMessage::Short => write!(message, "field label not supported: {name}"),
        UnknownFieldMessage::Kind(kind) => write!(message, "field label not supported for {kind}: {name}"),
    };
    Err(Status::bad_request(message))
}

/// Splits text at commas without a backslash.
fn split_unescaped(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn split_term(part: &str) -> Option<(&str, bool, &str)> {
    let at = part.find(['=', '!'])?;
    let (name, rest) = part.split_at(at);
    if let Some(value) = rest.strip_prefix("!=") {
        return Some((name, false, value));
    }
    let value = rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))?;
    Some((name, true, value))
}

fn unescape(value: &str) -> Option<String> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                escaped @ ('\\' | ',' | '=') => out.push(escaped),
                _ => return None,
            },
            ',' | '=' => return None,
            plain => out.push(plain),
        }
    }
    Some(out)
}
