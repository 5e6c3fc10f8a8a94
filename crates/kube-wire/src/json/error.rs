use std::fmt;

use serde_json::error::Category;

use super::field_path::FieldPath;
use crate::length::char_boundary;
use crate::redaction::redact_values;

/// Maximum length of a path, in bytes.
const MAX_PATH_LENGTH: usize = 1_024;

/// An error from reading JSON.
///
/// Contains the path of the field and the byte offset.
#[derive(Debug)]
pub struct Error {
    kind: JsonErrorKind,
    offset: usize,
    path: String,
}

#[derive(Debug)]
enum JsonErrorKind {
    Decode(Box<DecodeError>),
    Expected(&'static str),
    /// The text ends before the value does.
    UnexpectedEof,
    DuplicateField,
    TooDeep,
    TooLong(usize),
}

/// A message of serde_json without values, and without line and column, which are of little use for text of one line.
#[derive(Debug)]
struct DecodeError {
    category: Category,
    message: String,
}

impl DecodeError {
    fn new(error: &serde_json::Error) -> DecodeError {
        let text = error.to_string();
        let text = text.rfind(" at line ").map_or(&*text, |at| &text[..at]);
        let category = error.classify();
        DecodeError {
            category,
            message: match category {
                Category::Data => redact_values(text),
                Category::Io | Category::Syntax | Category::Eof => text.to_owned(),
            },
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DecodeError {}

impl Error {
    /// Converts an error that serde_json returned for `text[base..]`.
    #[cold]
    pub(super) fn decode(text: &[u8], base: usize, error: &serde_json::Error) -> Error {
        let offset = base + offset_of(&text[base..], error);
        Error::new(JsonErrorKind::Decode(Box::new(DecodeError::new(error))), offset).locate(text)
    }

    #[cold]
    pub(super) fn expected(expected: &'static str, offset: usize) -> Error {
        Error::new(JsonErrorKind::Expected(expected), offset)
    }

    #[cold]
    pub(super) fn unexpected_eof(offset: usize) -> Error {
        Error::new(JsonErrorKind::UnexpectedEof, offset)
    }

    #[cold]
    pub(super) fn duplicate_field(offset: usize) -> Error {
        Error::new(JsonErrorKind::DuplicateField, offset)
    }

    #[cold]
    pub(super) fn too_deep(offset: usize) -> Error {
        Error::new(JsonErrorKind::TooDeep, offset)
    }

    #[cold]
    pub(super) fn too_long(limit: usize, offset: usize) -> Error {
        Error::new(JsonErrorKind::TooLong(limit), offset)
    }

    fn new(kind: JsonErrorKind, offset: usize) -> Error {
        Error {
            kind,
            offset,
            path: String::new(),
        }
    }

    /// Adds the path of the field, for which it scans the text again.
    #[cold]
    pub(super) fn locate(self, text: &[u8]) -> Error {
        let path = FieldPath::at(text, self.offset).to_string();
        self.with_path(path)
    }

    pub(super) fn with_path(mut self, path: String) -> Error {
        self.path = path;
        // A key may be as long as an object.
        if self.path.len() > MAX_PATH_LENGTH {
            let end = char_boundary(&self.path, MAX_PATH_LENGTH);
            self.path.truncate(end);
            self.path.push('…');
        }
        self
    }

    /// Adds the offset at which the text starts in an outer text.
    pub(super) fn offset_by(mut self, base: usize) -> Error {
        self.offset += base;
        self
    }

    /// Number of bytes before the error.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Path of the field, such as `spec.containers[1].image`. Empty if the error concerns the whole text.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns whether the text is JSON with unexpected content: a missing field, a duplicate field or a type
    /// mismatch.
    pub fn is_data(&self) -> bool {
        match &self.kind {
            JsonErrorKind::Decode(error) => error.category == Category::Data,
            JsonErrorKind::DuplicateField => true,
            JsonErrorKind::Expected(_)
            | JsonErrorKind::UnexpectedEof
            | JsonErrorKind::TooDeep
            | JsonErrorKind::TooLong(_) => false,
        }
    }

    /// Returns whether the text ends early, for example because a connection was lost.
    pub fn is_eof(&self) -> bool {
        match &self.kind {
            JsonErrorKind::Decode(error) => error.category == Category::Eof,
            JsonErrorKind::UnexpectedEof => true,
            JsonErrorKind::Expected(_)
            | JsonErrorKind::DuplicateField
            | JsonErrorKind::TooDeep
            | JsonErrorKind::TooLong(_) => false,
        }
    }

    /// Returns whether the text exceeds the limit.
    pub fn is_too_long(&self) -> bool {
        matches!(self.kind, JsonErrorKind::TooLong(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        match &self.kind {
            JsonErrorKind::Decode(error) => f.write_str(match error.category {
                Category::Data => "type mismatch",
                Category::Eof => "unexpected end of input",
                Category::Io | Category::Syntax => "invalid JSON",
            })?,
            JsonErrorKind::Expected(expected) => write!(f, "expected {expected}")?,
            JsonErrorKind::UnexpectedEof => f.write_str("unexpected end of input")?,
            JsonErrorKind::DuplicateField => f.write_str("duplicate field")?,
            JsonErrorKind::TooDeep => f.write_str("nested too deeply")?,
            JsonErrorKind::TooLong(limit) => write!(f, "exceeds the limit of {limit} bytes")?,
        }
        write!(f, ", at byte {}", self.offset)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            JsonErrorKind::Decode(error) => Some(&**error),
            _ => None,
        }
    }
}

/// Converts line and column to an offset. serde_json counts lines from 1, and columns as bytes read in the line.
fn offset_of(text: &[u8], error: &serde_json::Error) -> usize {
    let line = match error.line().checked_sub(2) {
        None => 0,
        Some(breaks) => memchr::memchr_iter(b'\n', text)
            .nth(breaks)
            .map_or(text.len(), |at| at + 1),
    };
    // For an unexpected byte, serde_json counts the column from 1.
    let column = error.column().saturating_sub(usize::from(error.is_syntax()));
    (line + column).min(text.len())
}
