//! The protobuf encoding itself, as a reader of fields.

use std::fmt;

use super::Error;
use crate::length::Length;

/// A field's content.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content<'a> {
    Varint(u64),
    /// As a number, because a field of bytes would lie askew in memory, and copies of it would be slow.
    Fixed64(u64),
    Bytes(&'a [u8]),
    /// Of a wire type that no message here has.
    Other,
}

impl<'a> Content<'a> {
    pub(super) fn varint(self) -> Result<u64, Error> {
        match self {
            Self::Varint(value) => Ok(value),
            _ => Err(wrong_type()),
        }
    }

    pub(super) fn bytes(self) -> Result<&'a [u8], Error> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(wrong_type()),
        }
    }

    pub(super) fn double(self) -> Result<f64, Error> {
        match self {
            Self::Fixed64(bits) => Ok(f64::from_bits(bits)),
            _ => Err(wrong_type()),
        }
    }
}

#[cold]
pub(super) fn wrong_type() -> Error {
    Error::malformed("a field is of another wire type")
}

/// Fields of one number that follow each other directly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'a> {
    pub(super) fields: Fields<'a>,
    pub(super) count: usize,
}

/// The fields of a message, in the order in which they were written.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(&'a [u8]);

impl fmt::Debug for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Fields").field(&Length(self.0.len())).finish()
    }
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    /// What has not been read yet.
    pub(super) fn rest(self) -> &'a [u8] {
        self.0
    }

    /// The next field: its number and what it holds.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what it returns is large, and is taken apart at once"
    )]
    pub(super) fn next(&mut self) -> Result<Option<(u64, Content<'a>)>, Error> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = tag >> 3;
        if number == 0 {
            return Err(Error::malformed("a field has the number zero"));
        }
        let content = match tag & 7 {
            2 => Content::Bytes(self.bytes()?),
            0 => Content::Varint(self.varint()?),
            wire_type => self.rare(wire_type)?,
        };
        Ok(Some((number, content)))
    }

    /// The field that has just been read, where there was `before`, and those after it that begin with the same bytes.
    pub(super) fn run_from(&mut self, before: Self) -> Result<Run<'a>, Error> {
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
        Ok(Run {
            fields: Self(&before.0[..len]),
            count,
        })
    }

    /// The next number of a packed list.
    pub(super) fn next_packed(&mut self) -> Result<Option<u64>, Error> {
        if self.0.is_empty() {
            return Ok(None);
        }
        self.varint().map(Some)
    }

    /// What a field of a rare type holds.
    #[cold]
    fn rare(&mut self, wire_type: u64) -> Result<Content<'a>, Error> {
        Ok(match wire_type {
            1 => {
                let bytes = self.take(8)?;
                Content::Fixed64(u64::from_le_bytes(bytes.try_into().map_err(|_| cut_off())?))
            }
            3 => {
                self.skip_group()?;
                Content::Other
            }
            5 => {
                self.take(4)?;
                Content::Other
            }
            _ => return Err(Error::malformed("a field has an unknown wire type")),
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
                    self.rare(wire_type)?;
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

    /// A number of one or two bytes; none if it is longer or not there.
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

    /// What comes after such a number, as many bytes as it says.
    #[inline]
    pub(super) fn short_bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.short_varint()?;
        let (bytes, rest) = self.0.split_at_checked(len.into())?;
        self.0 = rest;
        Some(bytes)
    }

    #[inline]
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let len = usize::try_from(self.varint()?).map_err(|_| cut_off())?;
        self.take(len)
    }

    fn long_varint(&mut self) -> Result<u64, Error> {
        let mut value = 0;
        for at in 0..10 {
            let byte = *self.0.get(at).ok_or_else(cut_off)?;
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte < 0x80 {
                self.0 = &self.0[at + 1..];
                return Ok(value);
            }
        }
        Err(Error::malformed("a number is too long"))
    }

    #[inline]
    fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(cut_off)?;
        self.0 = rest;
        Ok(taken)
    }
}

#[cold]
fn cut_off() -> Error {
    Error::malformed("it ends in the middle of a field")
}
