use std::fmt;

/// A text is no selector, or a key or value cannot be part of one. Printed, it says what was found and what is expected,
/// as a message of the API server.
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
