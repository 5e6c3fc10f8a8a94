//! Paths of fields in JSON text, for error messages.

use std::fmt;

/// The path from the root to a value.
#[derive(Debug)]
pub(super) struct FieldPath<'a> {
    steps: Vec<RawSegment<'a>>,
}

#[derive(Debug)]
enum RawSegment<'a> {
    /// A field of an object, `None` before the first one. The name is only decoded for output: malicious text can
    /// repeat colons after a long name.
    Field(Option<&'a [u8]>),
    Index(usize),
}

/// Maximum length of a path. No valid object is nested deeper.
const MAX_STEPS: usize = 128;

impl<'a> FieldPath<'a> {
    /// Returns the path of the value that contains or precedes `offset`.
    ///
    /// Returns an approximate path if the text is not valid JSON.
    pub(super) fn at(text: &'a [u8], offset: usize) -> FieldPath<'a> {
        let mut steps = Vec::new();
        let mut at = 0;
        // A string before a colon is a key.
        let mut string: &[u8] = b"";
        while at < offset.min(text.len()) {
            match text[at] {
                b'"' => {
                    let rest = &text[at + 1..];
                    let len = string_len(rest);
                    string = &rest[..len];
                    at += len + 1;
                }
                b':' => {
                    if let Some(RawSegment::Field(field)) = steps.last_mut() {
                        *field = Some(string);
                    }
                }
                b',' => match steps.last_mut() {
                    Some(RawSegment::Index(index)) => *index += 1,
                    Some(RawSegment::Field(field)) => *field = None,
                    None => {}
                },
                b'{' if steps.len() < MAX_STEPS => steps.push(RawSegment::Field(None)),
                b'[' if steps.len() < MAX_STEPS => steps.push(RawSegment::Index(0)),
                b'{' | b'[' => break,
                b'}' | b']' => {
                    steps.pop();
                }
                _ => {}
            }
            at += 1;
        }
        FieldPath { steps }
    }
}

/// Returns the length of a string, in bytes, up to its closing quote.
fn string_len(text: &[u8]) -> usize {
    let mut escaped = false;
    let ends = |byte: &u8| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    };
    text.iter().position(ends).unwrap_or(text.len())
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut dot = "";
        for step in &self.steps {
            match step {
                RawSegment::Field(None) => {}
                RawSegment::Field(Some(name)) => {
                    let name = String::from_utf8_lossy(name);
                    if name.is_empty() || name.contains(['.', '[', ']']) {
                        write!(f, "[{name}]")?;
                    } else {
                        write!(f, "{dot}{name}")?;
                    }
                }
                RawSegment::Index(index) => write!(f, "[{index}]")?,
            }
            dot = ".";
        }
        Ok(())
    }
}
