//! Values that JSON has in another form than protobuf.

use serde_json::{Number, Value};

use super::read::Fields;
use super::{Error, time};

/// Text as Go prints it: every byte that is not part of a character is a replacement character.
pub(super) fn string(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

/// A 32-bit number: protobuf writes negative ones with all 64 bits.
pub(super) fn low_half(value: u64) -> i32 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// Go prints a float that is a whole number as one, and JSON does not tell them apart.
pub(super) fn double(value: f64) -> Result<Value, Error> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT && (value != 0.0 || value.is_sign_positive()) {
        #[expect(clippy::cast_possible_truncation, reason = "it is a whole number in range")]
        return Ok((value as i64).into());
    }
    match Number::from_f64(value) {
        Some(number) => Ok(Value::Number(number)),
        None => Err(Error::invalid("JSON has no infinity and no NaN")),
    }
}

pub(super) fn time_of(message: &[u8], micro: bool) -> Result<Value, Error> {
    if message.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut fields = Fields::of(message);
    while let Some((number, content)) = fields.next()? {
        match number {
            1 => seconds = content.varint()?.cast_signed(),
            2 => nanos = low_half(content.varint()?),
            _ => {}
        }
    }
    let micros = if micro { nanos / 1000 } else { 0 };
    let seconds = seconds.saturating_add(micros.div_euclid(1_000_000).into());
    let micros = micros.rem_euclid(1_000_000);
    if seconds == time::ZERO && micros == 0 {
        return Ok(Value::Null);
    }
    match time::format(seconds, micro.then_some(micros)) {
        Some(text) => Ok(Value::String(text)),
        None => Err(Error::invalid("a time is outside the years 0 to 9999")),
    }
}

pub(super) fn int_or_string(message: &[u8]) -> Result<Value, Error> {
    let (mut is, mut int, mut text): (u64, i32, &[u8]) = (0, 0, b"");
    let mut fields = Fields::of(message);
    while let Some((number, content)) = fields.next()? {
        match number {
            1 => is = content.varint()?,
            2 => int = low_half(content.varint()?),
            3 => text = content.bytes()?,
            _ => {}
        }
    }
    match is {
        0 => Ok(int.into()),
        1 => Ok(Value::String(string(text))),
        _ => Err(Error::invalid("neither a number nor a string")),
    }
}

/// The bytes in the one field of a small message.
pub(super) fn only_field(message: &[u8]) -> Result<Option<&[u8]>, Error> {
    let mut found = None;
    let mut fields = Fields::of(message);
    while let Some((number, content)) = fields.next()? {
        if number == 1 {
            found = Some(content.bytes()?);
        }
    }
    Ok(found)
}
