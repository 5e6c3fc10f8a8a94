//! Where in an object a byte is, for errors.

use std::fmt;

/// The way from the whole to a value.
#[derive(Debug)]
pub(super) struct Place<'a> {
    steps: Vec<Step<'a>>,
}

#[derive(Debug)]
enum Step<'a> {
    /// A field, before the first of which there is none. Its name is not looked at before it is shown: a hostile text can
    /// have a long one and any number of colons after it.
    Field(Option<&'a [u8]>),
    Index(usize),
}

/// Enough to find a field by; what is deeper than this is not JSON that anybody reads.
const MAX_STEPS: usize = 128;

impl<'a> Place<'a> {
    /// The value that the bytes before `offset` end in, or have just ended.
    ///
    /// The text may be no JSON; then it is some place near.
    pub(super) fn at(text: &'a [u8], offset: usize) -> Place<'a> {
        let mut steps = Vec::new();
        let mut at = 0;
        // A string is a key if what comes next is a colon.
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
                    if let Some(Step::Field(field)) = steps.last_mut() {
                        *field = Some(string);
                    }
                }
                b',' => match steps.last_mut() {
                    Some(Step::Index(index)) => *index += 1,
                    Some(Step::Field(field)) => *field = None,
                    None => {}
                },
                b'{' if steps.len() < MAX_STEPS => steps.push(Step::Field(None)),
                b'[' if steps.len() < MAX_STEPS => steps.push(Step::Index(0)),
                b'{' | b'[' => break,
                b'}' | b']' => {
                    steps.pop();
                }
                _ => {}
            }
            at += 1;
        }
        Place { steps }
    }
}

/// How many bytes a string has before the quote that closes it.
fn string_len(text: &[u8]) -> usize {
    let mut escaped = false;
    let ends = |byte: &u8| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    };
    text.iter().position(ends).unwrap_or(text.len())
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut dot = "";
        for step in &self.steps {
            match step {
                Step::Field(None) => {}
                Step::Field(Some(name)) => {
                    let name = String::from_utf8_lossy(name);
                    if name.is_empty() || name.contains(['.', '[', ']']) {
                        write!(f, "[{name}]")?;
                    } else {
                        write!(f, "{dot}{name}")?;
                    }
                }
                Step::Index(index) => write!(f, "[{index}]")?,
            }
            dot = ".";
        }
        Ok(())
    }
}
