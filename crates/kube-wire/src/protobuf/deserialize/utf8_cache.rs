//! Validation of UTF-8 across several strings.
//!
//! The bytes between two strings of a message are usually small numbers, which are valid UTF-8 as well. One check
//! therefore continues after the end of a string and covers the strings after it.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::ops::Range;

use bstr::ByteSlice;

use super::super::convert::string;
use crate::length::Length;

/// Number of bytes to check at once, unless a string is longer. Larger blocks do not pay off, because text that is
/// read out of order is checked again.
const AT_A_TIME: usize = 256;

/// A message and its last validated range.
pub(super) struct Utf8Cache<'de> {
    message: &'de [u8],
    /// A valid range of the message.
    known: Cell<&'de str>,
}

impl<'de> Utf8Cache<'de> {
    pub(super) fn of(message: &'de [u8]) -> Self {
        Self {
            message,
            known: Cell::new(""),
        }
    }

    /// Returns text as Go decodes it.
    #[inline]
    pub(super) fn text(&self, bytes: &'de [u8]) -> Cow<'de, str> {
        match self.valid(bytes) {
            Some(text) => Cow::Borrowed(text),
            None => string(bytes),
        }
    }

    /// Returns bytes of the message as text if they are valid UTF-8.
    #[inline]
    pub(super) fn valid(&self, bytes: &'de [u8]) -> Option<&'de str> {
        let known = self.known.get();
        let text = range(known.as_bytes(), bytes).and_then(|range| known.get(range));
        text.or_else(|| self.check(bytes))
    }

    #[inline(never)]
    fn check(&self, bytes: &'de [u8]) -> Option<&'de str> {
        let from = self.message.get(range(self.message, bytes)?.start..)?;
        let some = &from[..bytes.len().max(AT_A_TIME).min(from.len())];
        let known = ByteSlice::utf8_chunks(some).next()?.valid();
        self.known.set(known);
        known.get(..bytes.len())
    }
}

/// Returns the range of `part` in `whole`. The range is out of bounds if `part` is not in `whole`.
#[inline]
fn range(whole: &[u8], part: &[u8]) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
    Some(start..start.checked_add(part.len())?)
}

impl fmt::Debug for Utf8Cache<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Texts").field(&Length(self.message.len())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns bytes similar to those of messages: strings, numbers and invalid UTF-8.
    fn some_bytes(random: &mut fastrand::Rng) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < 2000 {
            match random.u8(..16) {
                0 => bytes.push(random.u8(0x80..)),
                1 => bytes.extend("€".bytes()),
                2 => bytes.extend("ß𝄞".bytes().take(random.usize(..6))),
                _ => bytes.extend((0..random.usize(..80)).map(|_| random.u8(..0x80))),
            }
        }
        bytes
    }

    #[test]
    fn text_does_not_depend_on_earlier_reads() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let message = some_bytes(&mut random);
            let elsewhere = some_bytes(&mut random);
            let texts = Utf8Cache::of(&message);
            let mut at = 0;
            for _ in 0..200 {
                at = match random.u8(..8) {
                    0 => random.usize(..message.len()),
                    _ => (at + random.usize(..40)) % message.len(),
                };
                let most = if random.u8(..8) == 0 { 1000 } else { 40 };
                let end = (at + random.usize(..most)).min(message.len());
                let of = if random.u8(..16) == 0 {
                    &elsewhere
                } else {
                    &message
                };
                let bytes = &of[at.min(of.len())..end.min(of.len())];
                assert_eq!(texts.text(bytes), string(bytes), "seed {seed}: {at}..{end}");
            }
        }
    }

    #[test]
    fn validates_consecutive_strings_in_one_block() {
        let message = [b'a'; 1000];
        let texts = Utf8Cache::of(&message);
        texts.text(&message[10..20]);
        assert_eq!(range(&message, texts.known.get().as_bytes()), Some(10..266));
        texts.text(&message[200..266]);
        assert_eq!(texts.known.get().as_ptr(), message[10..].as_ptr());
        texts.text(&message[200..267]);
        assert_eq!(range(&message, texts.known.get().as_bytes()), Some(200..456));
        texts.text(&message[..400]);
        assert_eq!(range(&message, texts.known.get().as_bytes()), Some(0..400));
        texts.text(&message[990..]);
        assert_eq!(range(&message, texts.known.get().as_bytes()), Some(990..1000));
    }
}
