use std::fmt;

/// An error for an invalid selector, or for a key or value that is not valid in one.
///
/// The message imitates the one of the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseSelectorError {
    message: String,
}

impl ParseSelectorError {
    pub(super) fn new(message: impl Into<String>) -> ParseSelectorError {
        ParseSelectorError {
            message: message.into(),
        }
    }
}

impl fmt::Display for ParseSelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseSelectorError {}
