//! Errors of Go's `encoding/base64`.

use base64::DecodeError;

/// Returns the message for a text that is not valid base64.
pub(crate) fn illegal_base64(error: &DecodeError, token: &str) -> String {
    let at = match error {
        DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => *at,
        DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => token.len(),
    };
    format!("illegal base64 data at input byte {at}")
}
