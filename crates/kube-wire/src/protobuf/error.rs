//! Errors of the protobuf codec.

use std::fmt;

use crate::length::char_boundary;
use crate::redaction::redact_values;

/// Maximum length of a key, in bytes. Keys may be as long as an object.
const MAX_KEY_LENGTH: usize = 256;

/// An error from reading or writing protobuf.
///
/// Contains the path of the field in JSON. Also serves as serde error for types that reject a value; their messages
/// are redacted.
#[derive(Debug)]
pub struct Error(Box<ErrorDetails>);

/// Boxed to keep results small.
#[derive(Debug)]
struct ErrorDetails {
    kind: ProtobufErrorKind,
    /// Innermost segment first, because callers add segments on the way out.
    path: Vec<PathSegment>,
}

#[derive(Debug)]
pub(super) enum ProtobufErrorKind {
    NotProtobuf,
    UnknownKind { api_version: String, kind: String },
    UnknownMessage(String),
    Malformed(&'static str),
    UnexpectedEof,
    NonContiguous,
    Invalid(String),
    Expected(&'static str),
    TooDeep,
    TooLarge,
}

#[derive(Debug)]
enum PathSegment {
    Field(&'static str),
    Index(usize),
    Key(String),
}

impl Error {
    /// Returns whether the kind has no protobuf encoding and JSON must be used: custom resources, `Table` and kinds
    /// that are newer than this crate.
    pub fn is_unknown_kind(&self) -> bool {
        matches!(
            self.0.kind,
            ProtobufErrorKind::UnknownKind { .. } | ProtobufErrorKind::UnknownMessage(_)
        )
    }

    /// Returns whether the bytes do not start like Kubernetes protobuf.
    pub fn is_not_protobuf(&self) -> bool {
        matches!(self.0.kind, ProtobufErrorKind::NotProtobuf)
    }

    /// Returns whether the object exceeds the limits for size or nesting depth.
    pub fn is_over_limit(&self) -> bool {
        matches!(
            self.0.kind,
            ProtobufErrorKind::TooDeep | ProtobufErrorKind::TooLarge
        )
    }

    /// Returns whether the input is valid but ends early, for example because the connection was lost.
    pub fn is_eof(&self) -> bool {
        matches!(self.0.kind, ProtobufErrorKind::UnexpectedEof)
    }

    #[cold]
    pub(super) fn unknown_kind(api_version: &str, kind: &str) -> Self {
        ProtobufErrorKind::UnknownKind {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        }
        .into()
    }

    #[cold]
    pub(super) fn malformed(detail: &'static str) -> Self {
        ProtobufErrorKind::Malformed(detail).into()
    }

    #[cold]
    pub(super) fn invalid(detail: impl Into<String>) -> Self {
        ProtobufErrorKind::Invalid(detail.into()).into()
    }

    /// Converts an error about embedded JSON. The message contains no values.
    #[cold]
    pub(super) fn not_json(error: &serde_json::Error) -> Self {
        let message = error.to_string();
        if error.is_data() {
            let message = message.split(" at line ").next().unwrap_or_default();
            return Self::invalid(format!("invalid JSON: {}", redact_values(message)));
        }
        Self::invalid(format!("invalid JSON: {message}"))
    }

    #[cold]
    pub(super) fn expected(detail: &'static str) -> Self {
        ProtobufErrorKind::Expected(detail).into()
    }

    #[cold]
    pub(super) fn in_field(mut self, name: &'static str) -> Self {
        self.0.path.push(PathSegment::Field(name));
        self
    }

    #[cold]
    pub(super) fn at_index(mut self, index: usize) -> Self {
        self.0.path.push(PathSegment::Index(index));
        self
    }

    #[cold]
    pub(super) fn at_key(mut self, key: &str) -> Self {
        let key = &key[..char_boundary(key, MAX_KEY_LENGTH)];
        self.0.path.push(PathSegment::Key(key.to_owned()));
        self
    }
}

impl From<ProtobufErrorKind> for Error {
    fn from(kind: ProtobufErrorKind) -> Self {
        Self(Box::new(ErrorDetails {
            kind,
            path: Vec::new(),
        }))
    }
}

impl std::error::Error for Error {}

impl serde::de::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(detail: T) -> Self {
        Self::invalid(redact_values(&detail.to_string()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.path.iter().rev().enumerate() {
            match step {
                PathSegment::Field(name) if at == 0 => write!(f, "{name}")?,
                PathSegment::Field(name) => write!(f, ".{name}")?,
                PathSegment::Index(index) => write!(f, "[{index}]")?,
                PathSegment::Key(key) => write!(f, "[{key:?}]")?,
            }
        }
        if !self.0.path.is_empty() {
            f.write_str(": ")?;
        }
        write!(f, "{}", self.0.kind)
    }
}

impl fmt::Display for ProtobufErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotProtobuf => f.write_str("not Kubernetes protobuf: missing prefix `k8s\\0`"),
            Self::UnknownKind { api_version, kind } => {
                write!(f, "unknown kind {kind:?} in {api_version:?}: use JSON")
            }
            Self::UnknownMessage(name) => write!(f, "unknown message {name:?}"),
            Self::Malformed(detail) => write!(f, "malformed protobuf: {detail}"),
            Self::UnexpectedEof => f.write_str("unexpected end of input"),
            Self::NonContiguous => f.write_str("non-contiguous field"),
            Self::Invalid(detail) => f.write_str(detail),
            Self::Expected(detail) => write!(f, "expected {detail}"),
            Self::TooDeep => f.write_str("nested too deeply"),
            Self::TooLarge => f.write_str("too large"),
        }
    }
}
