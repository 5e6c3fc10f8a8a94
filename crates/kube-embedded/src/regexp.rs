//! Regular expressions in Go's syntax.
//!
//! Go and the `regex` crate both follow RE2, so most patterns are the same in both. [`compile`] converts the
//! differences: `\d`, `\w` and `\s` are ASCII in Go, a lone `{` is an ordinary character, `[` needs no escape within a
//! class, and `\<` is not a word boundary.

use std::collections::HashMap;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

/// The compiled patterns of a schema by their text.
#[derive(Debug, Default)]
pub(crate) struct Patterns(HashMap<String, Result<Regex, String>>);

impl Patterns {
    /// Compiles every `pattern` in a schema.
    pub(crate) fn of(schema: &Value) -> Patterns {
        let mut patterns = Patterns::default();
        patterns.collect(schema);
        patterns
    }

    fn collect(&mut self, schema: &Value) {
        match schema {
            Value::Object(fields) => {
                if let Some(Value::String(pattern)) = fields.get("pattern") {
                    self.0.entry(pattern.clone()).or_insert_with(|| compile(pattern));
                }
                fields.values().for_each(|inner| self.collect(inner));
            }
            Value::Array(items) => items.iter().for_each(|inner| self.collect(inner)),
            _ => {}
        }
    }

    /// Returns whether text matches. The error says why the pattern is invalid.
    pub(crate) fn matches(&self, pattern: &str, text: &str) -> Result<bool, String> {
        match self.0.get(pattern) {
            Some(Ok(regex)) => Ok(regex.is_match(text)),
            Some(Err(why)) => Err(why.clone()),
            None => compile(pattern).map(|regex| regex.is_match(text)),
        }
    }
}

/// Compiles a pattern in Go's syntax. Errors have Go's wording.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    if let Some(bad) = unsupported(pattern) {
        return Err(format!("error parsing regexp: {bad}"));
    }
    RegexBuilder::new(&translate(pattern))
        .size_limit(64 << 20)
        .build()
        .map_err(|error| format!("error parsing regexp: {}", wording(pattern, &error)))
}

/// Returns Go's error for syntax that only the `regex` crate supports.
fn unsupported(pattern: &str) -> Option<String> {
    for look in ["(?=", "(?!"] {
        if pattern.contains(look) {
            return Some(format!("invalid or unsupported Perl syntax: `{look}`"));
        }
    }
    if pattern.contains("(?<=") || pattern.contains("(?<!") {
        return Some("invalid or unsupported Perl syntax: `(?<`".into());
    }
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c == '\\' {
            match chars.next() {
                None => return Some("trailing backslash at end of expression: ``".into()),
                Some(digit @ '1'..='9') => return Some(format!("invalid escape sequence: `\\{digit}`")),
                Some(_) => {}
            }
        }
    }
    None
}

fn wording(pattern: &str, error: &regex::Error) -> String {
    let text = error.to_string();
    let because = |reason: &str| text.contains(reason);
    if because("unclosed group") {
        format!("missing closing ): `{pattern}`")
    } else if because("unopened group") {
        format!("unexpected ): `{pattern}`")
    } else if because("unclosed character class") {
        let from = pattern.find('[').unwrap_or_default();
        format!("missing closing ]: `{}`", pattern.get(from..).unwrap_or_default())
    } else if because("repetition operator missing expression") {
        let operator = pattern.chars().find(|c| "*+?".contains(*c)).unwrap_or('*');
        format!("missing argument to repetition operator: `{operator}`")
    } else {
        let last = text.lines().last().unwrap_or_default();
        format!("{}: `{pattern}`", last.trim_start_matches("error: "))
    }
}

/// Converts Go's syntax to that of the `regex` crate.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut chars = pattern.char_indices().peekable();
    let mut in_class = false;
    while let Some((at, c)) = chars.next() {
        let rest = pattern.get(at..).unwrap_or_default();
        match c {
            '\\' => {
                let Some((_, escaped)) = chars.next() else { break };
                if escaped == 'Q' && !in_class {
                    let quoted = rest.get(2..).unwrap_or_default();
                    let quoted = quoted.split("\\E").next().unwrap_or(quoted);
                    out += &regex::escape(quoted);
                    let end = at + 2 + quoted.len() + 2;
                    while chars.peek().is_some_and(|(next, _)| *next < end) {
                        chars.next();
                    }
                } else {
                    push_escape(&mut out, escaped, in_class);
                }
            }
            '[' if in_class => {
                if rest.starts_with("[:") {
                    out.push('[');
                } else {
                    out += "\\[";
                }
            }
            '[' => {
                in_class = true;
                out.push('[');
                if chars.next_if(|(_, c)| *c == '^').is_some() {
                    out.push('^');
                }
                if chars.next_if(|(_, c)| *c == ']').is_some() {
                    out += "\\]";
                }
            }
            ']' if in_class => {
                // The end of `[:alpha:]` does not end the class around it.
                in_class =
                    out.ends_with(':') && out.rfind("[:").is_some_and(|open| !out[open..].contains(']'));
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            '-' if in_class && rest.starts_with("--") => out += "\\-",
            '{' if !in_class && !is_repetition(rest) => out += "\\{",
            _ => out.push(c),
        }
    }
    out
}

fn push_escape(out: &mut String, escaped: char, in_class: bool) {
    let class = match escaped {
        'd' | 'D' => "0-9",
        'w' | 'W' => "0-9A-Za-z_",
        's' | 'S' => "\\t\\n\\x0C\\r ",
        'b' => {
            out.push_str("(?-u:\\b)");
            return;
        }
        '<' | '>' => {
            out.push(escaped);
            return;
        }
        _ => {
            out.push('\\');
            out.push(escaped);
            return;
        }
    };
    let negated = escaped.is_ascii_uppercase();
    match (in_class, negated) {
        (true, false) => out.push_str(class),
        (_, true) => out.extend(["[^", class, "]"]),
        (false, false) => out.extend(["[", class, "]"]),
    }
}

/// Returns whether `{…` is a count such as `{2}`, `{2,}` or `{2,3}`.
fn is_repetition(text: &str) -> bool {
    let Some((body, _)) = text.get(1..).and_then(|t| t.split_once('}')) else {
        return false;
    };
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    match body.split_once(',') {
        None => digits(body),
        Some((from, to)) => digits(from) && (to.is_empty() || digits(to)),
    }
}
