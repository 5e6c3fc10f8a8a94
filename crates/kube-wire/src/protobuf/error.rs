//! What can be wrong with bytes or with an object.

use std::fmt;

use crate::length::char_boundary;
use crate::refusal::without_values;

/// How much of a key is kept: one may be as long as an object.
const LONGEST_KEY: usize = 256;

/// Why something could not be read from protobuf or written to it.
///
/// It says where: the field, as a path in JSON.
///
/// As serde's error it also says what a type did not want to read.
#[derive(Debug)]
pub struct Error(Box<Failure>);

/// Boxed, so that what is read and what went wrong are returned in few bytes.
#[derive(Debug)]
struct Failure {
    reason: Reason,
    /// Outermost last, because it is put together on the way out.
    path: Vec<Step>,
}

#[derive(Debug)]
pub(super) enum Reason {
    NotProtobuf,
    UnknownKind { api_version: String, kind: String },
    UnknownMessage(String),
    Malformed(&'static str),
    CutOff,
    Scattered,
    Invalid(String),
    Expected(&'static str),
    TooDeep,
    TooLarge,
}

#[derive(Debug)]
enum Step {
    Field(&'static str),
    Index(usize),
    Key(String),
}

impl Error {
    /// Whether there is no protobuf for the kind, so that JSON has to be used: custom resources, `Table`, kinds that are
    /// newer than this library.
    pub fn is_unknown_kind(&self) -> bool {
        matches!(
            self.0.reason,
            Reason::UnknownKind { .. } | Reason::UnknownMessage(_)
        )
    }

    /// Whether the bytes do not even begin like Kubernetes' protobuf.
    pub fn is_not_protobuf(&self) -> bool {
        matches!(self.0.reason, Reason::NotProtobuf)
    }

    /// Whether the object is larger or nested deeper than this library reads or writes.
    pub fn is_over_limit(&self) -> bool {
        matches!(self.0.reason, Reason::TooDeep | Reason::TooLarge)
    }

    /// Whether what came is good as far as it goes, and then the connection ended.
    pub fn is_cut_off(&self) -> bool {
        matches!(self.0.reason, Reason::CutOff)
    }

    #[cold]
    pub(super) fn unknown_kind(api_version: &str, kind: &str) -> Self {
        Reason::UnknownKind {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        }
        .into()
    }

    #[cold]
    pub(super) fn malformed(what: &'static str) -> Self {
        Reason::Malformed(what).into()
    }

    #[cold]
    pub(super) fn invalid(what: impl Into<String>) -> Self {
        Reason::Invalid(what.into()).into()
    }

    /// JSON within an object that cannot be read. Only what is wrong with it as JSON is told, never a value.
    #[cold]
    pub(super) fn not_json(error: &serde_json::Error) -> Self {
        let said = error.to_string();
        if error.is_data() {
            let said = said.split(" at line ").next().unwrap_or_default();
            return Self::invalid(format!("not JSON: {}", without_values(said)));
        }
        Self::invalid(format!("not JSON: {said}"))
    }

    #[cold]
    pub(super) fn expected(what: &'static str) -> Self {
        Reason::Expected(what).into()
    }

    #[cold]
    pub(super) fn in_field(mut self, name: &'static str) -> Self {
        self.0.path.push(Step::Field(name));
        self
    }

    #[cold]
    pub(super) fn at_index(mut self, index: usize) -> Self {
        self.0.path.push(Step::Index(index));
        self
    }

    #[cold]
    pub(super) fn at_key(mut self, key: &str) -> Self {
        let key = &key[..char_boundary(key, LONGEST_KEY)];
        self.0.path.push(Step::Key(key.to_owned()));
        self
    }
}

impl From<Reason> for Error {
    fn from(reason: Reason) -> Self {
        Self(Box::new(Failure {
            reason,
            path: Vec::new(),
        }))
    }
}

impl std::error::Error for Error {}

impl serde::de::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(what: T) -> Self {
        Self::invalid(without_values(&what.to_string()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.path.iter().rev().enumerate() {
            match step {
                Step::Field(name) if at == 0 => write!(f, "{name}")?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => write!(f, "[{key:?}]")?,
            }
        }
        if !self.0.path.is_empty() {
            f.write_str(": ")?;
        }
        write!(f, "{}", self.0.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotProtobuf => {
                f.write_str("not Kubernetes protobuf: it does not begin with `k8s` and a zero byte")
            }
            Self::UnknownKind { api_version, kind } => {
                write!(
                    f,
                    "no protobuf is known for kind {kind:?} of {api_version:?}; use JSON"
                )
            }
            Self::UnknownMessage(name) => write!(f, "no message {name:?} is known"),
            Self::Malformed(what) => write!(f, "malformed protobuf: {what}"),
            Self::CutOff => f.write_str("it breaks off before its end"),
            Self::Scattered => f.write_str("the parts of a field are not together"),
            Self::Invalid(what) => f.write_str(what),
            Self::Expected(what) => write!(f, "expected {what}"),
            Self::TooDeep => f.write_str("nested too deep"),
            Self::TooLarge => f.write_str("too large"),
        }
    }
}
