//! Kubernetes' JSONPath, as far as `additionalPrinterColumns` can use it: the first value that a path finds.
//!
//! Paths are parsed once. If a path does not match an object (an index out of bounds, a field of a list, a
//! comparison of different types), the result is a [`Mismatch`], and the cell is empty.

mod find;
mod parse;

use serde_json::Value;

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path(Vec<Step>);

/// The path is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParsePathError;

/// The path does not match the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mismatch;

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    /// All values one level below.
    Wildcard,
    /// All values at any level below.
    Descent,
    Slice(Slice),
    Filter(Filter),
    Union(Vec<Vec<Step>>),
    Literal(Value),
    /// `range`, `end` and unknown words, which have no meaning in a column.
    Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slice {
    start: Option<i64>,
    end: End,
    step: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// `[1]`: one item only.
    OneAfterStart,
    /// `[1:]`
    Open,
    At(i64),
}

#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: Vec<Step>,
    /// The operator and its right side. If missing, the left side only has to exist.
    right: Option<(String, Vec<Step>)>,
}

impl Path {
    /// Parses a path such as `.status.conditions[?(@.type=="Ready")].status`.
    pub(crate) fn parse(text: &str) -> Result<Path, ParsePathError> {
        parse::steps(text).map(Path)
    }

    /// Returns the first value of the path.
    pub(crate) fn first(&self, object: &Value) -> Option<Value> {
        let found = find::walk(&self.0, vec![std::borrow::Cow::Borrowed(object)]).ok()?;
        found.into_iter().next().map(std::borrow::Cow::into_owned)
    }
}
