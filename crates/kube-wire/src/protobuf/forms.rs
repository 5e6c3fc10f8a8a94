//! Values that JSON has in another form than protobuf.

use std::borrow::Cow;

use bstr::ByteSlice as _;

use super::read::{Content, Fields, wrong_type};
use super::{Error, time};
use crate::table::{Container, Field, Kind};

/// Whether a field can hold this, also if something that comes later counts instead.
pub(super) fn check(field: &Field, content: Content<'_>) -> Result<(), Error> {
    let fits = match (field.container, field.kind) {
        (Container::One, Kind::Bool | Kind::Int32 | Kind::Int64) => matches!(content, Content::Varint(_)),
        (Container::List, Kind::Bool | Kind::Int32 | Kind::Int64) => {
            matches!(content, Content::Varint(_) | Content::Bytes(_))
        }
        (Container::One | Container::List, Kind::Double) => matches!(content, Content::Fixed64(_)),
        _ => matches!(content, Content::Bytes(_)),
    };
    if fits { Ok(()) } else { Err(wrong_type()) }
}

/// Text as Go prints it: every byte that is not part of a character is a replacement character.
#[inline]
pub(super) fn string(bytes: &[u8]) -> Cow<'_, str> {
    match bytes.to_str() {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(replaced(bytes)),
    }
}

#[cold]
fn replaced(bytes: &[u8]) -> String {
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
pub(super) fn double(value: f64) -> Result<Double, Error> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT && (value != 0.0 || value.is_sign_positive()) {
        #[expect(clippy::cast_possible_truncation, reason = "it is a whole number in range")]
        return Ok(Double::Whole(value as i64));
    }
    if value.is_finite() {
        Ok(Double::Other(value))
    } else {
        Err(Error::invalid("JSON has no infinity and no NaN"))
    }
}

/// A float as JSON has it.
pub(super) enum Double {
    Whole(i64),
    Other(f64),
}

/// The text in a quantity.
pub(super) fn quantity(message: &[u8]) -> Result<Cow<'_, str>, Error> {
    match only_field(message)? {
        None => Ok(Cow::Borrowed("0")),
        Some(b"") => Err(Error::invalid("a quantity is empty")),
        Some(text) => Ok(string(text)),
    }
}

/// A time: seconds and microseconds; none if it is Go's zero time.
pub(super) fn moment(message: &[u8], micro: bool) -> Result<Option<(i64, i32)>, Error> {
    if message.is_empty() {
        return Ok(None);
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
    Ok(((seconds, micros) != (time::ZERO, 0)).then_some((seconds, micros)))
}

/// A time as JSON has it; none if it is Go's zero time.
pub(super) fn time_of(message: &[u8], micro: bool) -> Result<Option<time::Text>, Error> {
    match moment(message, micro)? {
        Some((seconds, micros)) => time_text(seconds, micros, micro).map(Some),
        None => Ok(None),
    }
}

pub(super) fn time_text(seconds: i64, micros: i32, micro: bool) -> Result<time::Text, Error> {
    time::format(seconds, micro.then_some(micros))
        .ok_or_else(|| Error::invalid("a time is outside the years 0 to 9999"))
}

/// Either of the two.
pub(super) enum IntOrText<'a> {
    Int(i32),
    Text(Cow<'a, str>),
}

pub(super) fn int_or_string(message: &[u8]) -> Result<IntOrText<'_>, Error> {
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
        0 => Ok(IntOrText::Int(int)),
        1 => Ok(IntOrText::Text(string(text))),
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
