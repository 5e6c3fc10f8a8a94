//! Bytes as base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Returns the bytes of a text in base64.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
