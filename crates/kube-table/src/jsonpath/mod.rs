//! Kubernetes' JSONPath, as far as `additionalPrinterColumns` can use it: the first value that one path finds.
//!
//! Paths are parsed once; whatever then does not fit an object (an index out of bounds, a field of a list, a comparison of
//! different types) is a [`Mismatch`], and the cell stays empty.

mod find;
mod parse;

use serde_json::Value;

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path(Vec<Step>);

/// The path is not written as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The path does not fit the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mismatch;

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    /// Everything one level below.
    Wildcard,
    /// Everything below, at any level.
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
    /// The operator and what stands right of it; without, it is enough that the left side exists.
    right: Option<(String, Vec<Step>)>,
}

impl Path {
    /// Reads a path such as `.status.conditions[?(@.type=="Ready")].status`.
    pub(crate) fn parse(text: &str) -> Result<Path, Malformed> {
        parse::steps(text).map(Path)
    }

    /// The first value the path leads to.
    pub(crate) fn first(&self, object: &Value) -> Option<Value> {
        let found = find::walk(&self.0, vec![std::borrow::Cow::Borrowed(object)]).ok()?;
        found.into_iter().next().map(std::borrow::Cow::into_owned)
    }
}
