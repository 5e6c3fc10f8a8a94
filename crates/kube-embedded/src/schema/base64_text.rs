//! Decodes base64 like Go: line breaks are ignored, and errors contain a byte offset.

use base64::Engine;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};

/// Returns the canonical form, or the offset of the first invalid byte.
pub(super) fn canonical(text: &str) -> Result<String, usize> {
    let mut clean = String::with_capacity(text.len());
    let mut quantum_start = 0;
    let mut padding = 0;
    for (at, byte) in text.bytes().enumerate() {
        let place = clean.len() % 4;
        match byte {
            b'\r' | b'\n' => continue,
            b'=' if place >= 2 => padding += 1,
            _ if padding > 0 => return Err(at),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => {}
            _ => return Err(at),
        }
        if place == 0 {
            if padding > 0 {
                return Err(at);
            }
            quantum_start = at;
        }
        clean.push(char::from(byte));
    }
    match clean.len() % 4 {
        0 => {}
        3 if padding == 1 => return Err(text.len()),
        _ => return Err(quantum_start),
    }
    let lenient = GeneralPurpose::new(
        &ALPHABET,
        GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
    );
    let bytes = lenient.decode(&clean).map_err(|_| quantum_start)?;
    Ok(STANDARD.encode(bytes))
}
