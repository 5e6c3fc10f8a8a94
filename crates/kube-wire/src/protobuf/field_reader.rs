//! A reader for the protobuf encoding.

use std::fmt;

use super::Error;
use crate::length::Length;

/// The content of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content<'a> {
    Varint(u64),
    /// Stored as a number: a byte array would be unaligned, and copies would be slow.
    Fixed64(u64),
    Bytes(&'a [u8]),
    /// A wire type that Kubernetes does not use.
    Other,
}

impl<'a> Content<'a> {
    pub(super) fn varint(self) -> Result<u64, Error> {
        match self {
            Self::Varint(value) => Ok(value),
            _ => Err(wrong_wire_type()),
        }
    }

    pub(super) fn bytes(self) -> Result<&'a [u8], Error> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(wrong_wire_type()),
        }
    }

    pub(super) fn double(self) -> Result<f64, Error> {
        match self {
            Self::Fixed64(bits) => Ok(f64::from_bits(bits)),
            _ => Err(wrong_wire_type()),
        }
    }
}

#[cold]
pub(super) fn wrong_wire_type() -> Error {
    Error::malformed("unexpected wire type")
}

/// Consecutive fields with the same number.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldRun<'a> {
    pub(super) fields: FieldReader<'a>,
    pub(super) count: usize,
}

/// Reads the fields of a message in order.
#[derive(Clone, Copy)]
pub(super) struct FieldReader<'a>(&'a [u8]);

impl fmt::Debug for FieldReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Fields").field(&Length(self.0.len())).finish()
    }
}

impl<'a> FieldReader<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    /// Returns the unread bytes.
    pub(super) fn rest(self) -> &'a [u8] {
        self.0
    }

    /// Returns number and content of the next field.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "large result that callers destructure")]
    pub(super) fn next(&mut self) -> Result<Option<(u64, Content<'a>)>, Error> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = tag >> 3;
        if number == 0 {
            return Err(Error::malformed("field number is zero"));
        }
        let content = match tag & 7 {
            2 => Content::Bytes(self.bytes()?),
            0 => Content::Varint(self.varint()?),
            wire_type => self.rare_content(wire_type)?,
        };
        Ok(Some((number, content)))
    }

    /// Returns a run of fields: the one that was read at `before`, and those after it with the same tag.
    pub(super) fn run_from(&mut self, before: Self) -> Result<FieldRun<'a>, Error> {
        let mut after_tag = before;
        let is_bytes = after_tag.varint()? & 7 == 2;
        let tag = &before.0[..before.0.len() - after_tag.0.len()];
        let mut count = 1;
        while let Some(rest) = self.0.strip_prefix(tag) {
            if is_bytes {
                self.0 = rest;
                self.bytes()?;
            } else {
                self.next()?;
            }
            count += 1;
        }
        let len = before.0.len() - self.0.len();
        Ok(FieldRun {
            fields: Self(&before.0[..len]),
            count,
        })
    }

    /// Returns the next number of a packed list.
    pub(super) fn next_packed(&mut self) -> Result<Option<u64>, Error> {
        if self.0.is_empty() {
            return Ok(None);
        }
        self.varint().map(Some)
    }

    /// Reads the content of a field with a rare wire type.
    #[cold]
    fn rare_content(&mut self, wire_type: u64) -> Result<Content<'a>, Error> {
        Ok(match wire_type {
            1 => {
                let bytes = self.take(8)?;
                Content::Fixed64(u64::from_le_bytes(
                    bytes.try_into().map_err(|_| truncated_field())?,
                ))
            }
            3 => {
                self.skip_group()?;
                Content::Other
            }
            5 => {
                self.take(4)?;
                Content::Other
            }
            _ => return Err(Error::malformed("unknown wire type")),
        })
    }

    fn skip_group(&mut self) -> Result<(), Error> {
        let mut open = 1_usize;
        while open > 0 {
            match self.varint()? & 7 {
                3 => open += 1,
                4 => open -= 1,
                0 => {
                    self.varint()?;
                }
                2 => {
                    self.bytes()?;
                }
                wire_type => {
                    self.rare_content(wire_type)?;
                }
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, Error> {
        match self.short_varint() {
            Some(number) => Ok(number.into()),
            None => self.long_varint(),
        }
    }

    /// Reads a number of at most two bytes. Returns `None` if it is longer or missing.
    #[inline]
    pub(super) fn short_varint(&mut self) -> Option<u16> {
        match self.0 {
            [byte @ ..0x80, rest @ ..] => {
                self.0 = rest;
                Some(u16::from(*byte))
            }
            [low, high @ ..0x80, rest @ ..] => {
                self.0 = rest;
                Some(u16::from(low & 0x7f) | u16::from(*high) << 7)
            }
            _ => None,
        }
    }

    /// Reads bytes whose length has at most two bytes.
    #[inline]
    pub(super) fn short_bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.short_varint()?;
        let (bytes, rest) = self.0.split_at_checked(len.into())?;
        self.0 = rest;
        Some(bytes)
    }

    #[inline]
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let len = usize::try_from(self.varint()?).map_err(|_| truncated_field())?;
        self.take(len)
    }

    fn long_varint(&mut self) -> Result<u64, Error> {
        let mut value = 0;
        for at in 0..10 {
            let byte = *self.0.get(at).ok_or_else(truncated_field)?;
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte < 0x80 {
                self.0 = &self.0[at + 1..];
                return Ok(value);
            }
        }
        Err(Error::malformed("varint is too long"))
    }

    #[inline]
    fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(truncated_field)?;
        self.0 = rest;
        Ok(taken)
    }
}

#[cold]
fn truncated_field() -> Error {
    Error::malformed("truncated field")
}
