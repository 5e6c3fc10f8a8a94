//! Conversion of values that JSON and protobuf represent differently.

use std::borrow::Cow;

use bstr::ByteSlice as _;

use super::field_reader::{Content, FieldReader, wrong_wire_type};
use super::{Error, time};
use crate::table::{Container, FieldDescriptor, ValueKind};

/// Checks that a field can have this content, even if a later occurrence replaces it.
pub(super) fn check_wire_type(field: &FieldDescriptor, content: Content<'_>) -> Result<(), Error> {
    let fits = match (field.container, field.kind) {
        (Container::Single, ValueKind::Bool | ValueKind::Int32 | ValueKind::Int64) => {
            matches!(content, Content::Varint(_))
        }
        (Container::List, ValueKind::Bool | ValueKind::Int32 | ValueKind::Int64) => {
            matches!(content, Content::Varint(_) | Content::Bytes(_))
        }
        (Container::Single | Container::List, ValueKind::Double) => matches!(content, Content::Fixed64(_)),
        _ => matches!(content, Content::Bytes(_)),
    };
    if fits { Ok(()) } else { Err(wrong_wire_type()) }
}

/// Decodes text as Go does: every byte of an invalid sequence becomes a replacement character.
#[inline]
pub(super) fn string(bytes: &[u8]) -> Cow<'_, str> {
    match bytes.to_str() {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(replace_invalid_bytes(bytes)),
    }
}

#[cold]
fn replace_invalid_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

/// Returns a 32-bit number. Protobuf encodes negative ones with 64 bits.
pub(super) fn low_32_bits(value: u64) -> i32 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// Converts a double. Go prints whole numbers without a fraction.
pub(super) fn double(value: f64) -> Result<Double, Error> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT && (value != 0.0 || value.is_sign_positive()) {
        #[expect(clippy::cast_possible_truncation, reason = "whole number in range")]
        return Ok(Double::Integer(value as i64));
    }
    if value.is_finite() {
        Ok(Double::Float(value))
    } else {
        Err(Error::invalid(
            "invalid double: JSON does not support infinity and NaN",
        ))
    }
}

/// A double in JSON.
pub(super) enum Double {
    Integer(i64),
    Float(f64),
}

/// Decodes a quantity.
pub(super) fn quantity(message: &[u8]) -> Result<Cow<'_, str>, Error> {
    match single_field(message)? {
        None => Ok(Cow::Borrowed("0")),
        Some(b"") => Err(Error::invalid("invalid quantity: empty string")),
        Some(text) => Ok(string(text)),
    }
}

/// Decodes a time to seconds and microseconds. Returns `None` for Go's zero time.
pub(super) fn decode_time(message: &[u8], micro: bool) -> Result<Option<(i64, i32)>, Error> {
    if message.is_empty() {
        return Ok(None);
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut fields = FieldReader::of(message);
    while let Some((number, content)) = fields.next()? {
        match number {
            1 => seconds = content.varint()?.cast_signed(),
            2 => nanos = low_32_bits(content.varint()?),
            _ => {}
        }
    }
    let micros = if micro { nanos / 1000 } else { 0 };
    let seconds = seconds.saturating_add(micros.div_euclid(1_000_000).into());
    let micros = micros.rem_euclid(1_000_000);
    Ok(((seconds, micros) != (time::ZERO, 0)).then_some((seconds, micros)))
}

/// Decodes a time to text. Returns `None` for Go's zero time.
pub(super) fn decode_time_text(message: &[u8], micro: bool) -> Result<Option<time::TimeText>, Error> {
    match decode_time(message, micro)? {
        Some((seconds, micros)) => format_time(seconds, micros, micro).map(Some),
        None => Ok(None),
    }
}

pub(super) fn format_time(seconds: i64, micros: i32, micro: bool) -> Result<time::TimeText, Error> {
    time::format(seconds, micro.then_some(micros))
        .ok_or_else(|| Error::invalid("invalid time: year is not between 0 and 9999"))
}

/// A number or a string.
pub(super) enum IntOrText<'a> {
    Int(i32),
    Text(Cow<'a, str>),
}

pub(super) fn int_or_string(message: &[u8]) -> Result<IntOrText<'_>, Error> {
    let (mut is, mut int, mut text): (u64, i32, &[u8]) = (0, 0, b"");
    let mut fields = FieldReader::of(message);
    while let Some((number, content)) = fields.next()? {
        match number {
            1 => is = content.varint()?,
            2 => int = low_32_bits(content.varint()?),
            3 => text = content.bytes()?,
            _ => {}
        }
    }
    match is {
        0 => Ok(IntOrText::Int(int)),
        1 => Ok(IntOrText::Text(string(text))),
        _ => Err(Error::invalid("invalid int-or-string: unknown type")),
    }
}

/// Returns the content of field 1, the only field of small messages.
pub(super) fn single_field(message: &[u8]) -> Result<Option<&[u8]>, Error> {
    let mut found = None;
    let mut fields = FieldReader::of(message);
    while let Some((number, content)) = fields.next()? {
        if number == 1 {
            found = Some(content.bytes()?);
        }
    }
    Ok(found)
}
