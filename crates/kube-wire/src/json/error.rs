use std::fmt;

use serde_json::error::Category;

use super::place::Place;
use crate::length::char_boundary;
use crate::refusal::without_values;

/// How much of a path is kept.
const LONGEST_PATH: usize = 1_024;

/// Why text could not be read.
///
/// It says where: the field, and how many bytes stand before what is wrong.
#[derive(Debug)]
pub struct Error {
    reason: Reason,
    offset: usize,
    path: String,
}

#[derive(Debug)]
enum Reason {
    Decode(Box<Refusal>),
    Expected(&'static str),
    /// The text ends too early.
    CutShort,
    Twice,
    TooDeep,
    TooLong(usize),
}

/// What serde_json says, without line and column, which say little about a text of one line, and without values.
#[derive(Debug)]
struct Refusal {
    category: Category,
    words: String,
}

impl Refusal {
    fn new(error: &serde_json::Error) -> Refusal {
        let said = error.to_string();
        let said = said.rfind(" at line ").map_or(&*said, |at| &said[..at]);
        let category = error.classify();
        Refusal {
            category,
            words: match category {
                Category::Data => without_values(said),
                Category::Io | Category::Syntax | Category::Eof => said.to_owned(),
            },
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl std::error::Error for Refusal {}

impl Error {
    /// What serde_json found in `text[base..]`.
    #[cold]
    pub(super) fn decode(text: &[u8], base: usize, error: &serde_json::Error) -> Error {
        let offset = base + offset_of(&text[base..], error);
        Error::new(Reason::Decode(Box::new(Refusal::new(error))), offset).within(text)
    }

    #[cold]
    pub(super) fn expected(what: &'static str, offset: usize) -> Error {
        Error::new(Reason::Expected(what), offset)
    }

    #[cold]
    pub(super) fn cut_short(offset: usize) -> Error {
        Error::new(Reason::CutShort, offset)
    }

    #[cold]
    pub(super) fn twice(offset: usize) -> Error {
        Error::new(Reason::Twice, offset)
    }

    #[cold]
    pub(super) fn too_deep(offset: usize) -> Error {
        Error::new(Reason::TooDeep, offset)
    }

    #[cold]
    pub(super) fn too_long(limit: usize, offset: usize) -> Error {
        Error::new(Reason::TooLong(limit), offset)
    }

    fn new(reason: Reason, offset: usize) -> Error {
        Error {
            reason,
            offset,
            path: String::new(),
        }
    }

    /// Finds the field; the text is read again for it.
    #[cold]
    pub(super) fn within(self, text: &[u8]) -> Error {
        let path = Place::at(text, self.offset).to_string();
        self.at(path)
    }

    pub(super) fn at(mut self, path: String) -> Error {
        self.path = path;
        // A key may be as long as an object.
        if self.path.len() > LONGEST_PATH {
            let end = char_boundary(&self.path, LONGEST_PATH);
            self.path.truncate(end);
            self.path.push('…');
        }
        self
    }

    /// The text was part of another, `base` bytes after its beginning.
    pub(super) fn after(mut self, base: usize) -> Error {
        self.offset += base;
        self
    }

    /// How many bytes stand before what is wrong.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The field that cannot be read, such as `spec.containers[1].image`; empty where it is the whole.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether the text is JSON but not what was asked for: a field that is missing, is of another type, or is there
    /// twice.
    pub fn is_data(&self) -> bool {
        match &self.reason {
            Reason::Decode(refusal) => refusal.category == Category::Data,
            Reason::Twice => true,
            Reason::Expected(_) | Reason::CutShort | Reason::TooDeep | Reason::TooLong(_) => false,
        }
    }

    /// Whether the text ends too early: more of it may have been lost on the way.
    pub fn is_cut_short(&self) -> bool {
        match &self.reason {
            Reason::Decode(refusal) => refusal.category == Category::Eof,
            Reason::CutShort => true,
            Reason::Expected(_) | Reason::Twice | Reason::TooDeep | Reason::TooLong(_) => false,
        }
    }

    /// Whether it is longer than it may be.
    pub fn is_too_long(&self) -> bool {
        matches!(self.reason, Reason::TooLong(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        match &self.reason {
            Reason::Decode(refusal) => f.write_str(match refusal.category {
                Category::Data => "it does not fit the type",
                Category::Eof => "the JSON ends too early",
                Category::Io | Category::Syntax => "it is not JSON",
            })?,
            Reason::Expected(what) => write!(f, "expected {what}")?,
            Reason::CutShort => f.write_str("the JSON ends too early")?,
            Reason::Twice => f.write_str("the field is there twice")?,
            Reason::TooDeep => f.write_str("nested too deep")?,
            Reason::TooLong(limit) => write!(f, "longer than {limit} bytes, which is the limit")?,
        }
        write!(f, ", at byte {}", self.offset)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            Reason::Decode(refusal) => Some(&**refusal),
            _ => None,
        }
    }
}

/// serde_json counts lines from one, and in a line the bytes that it has read.
fn offset_of(text: &[u8], error: &serde_json::Error) -> usize {
    let line = match error.line().checked_sub(2) {
        None => 0,
        Some(breaks) => memchr::memchr_iter(b'\n', text)
            .nth(breaks)
            .map_or(text.len(), |at| at + 1),
    };
    // Of a byte that cannot stand where it stands it gives the place from one.
    let column = error.column().saturating_sub(usize::from(error.is_syntax()));
    (line + column).min(text.len())
}
