//! A cursor over JSON text that skips values without decoding them.

use std::borrow::Cow;

use super::Error;
use super::scanner::{Scanner, ends_word};

/// A position in JSON text.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// The raw content of a string, between its quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawString<'a> {
    raw: &'a [u8],
    has_escapes: bool,
    offset: usize,
}

/// The state of an object while its fields are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectState {
    is_first: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a [u8]) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    /// Number of bytes before this position.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// Returns the next byte that is not white space, without consuming it.
    pub(super) fn peek(&mut self) -> Result<u8, Error> {
        while let Some(byte) = self.text.get(self.at) {
            if !is_space(*byte) {
                return Ok(*byte);
            }
            self.at += 1;
        }
        Err(Error::unexpected_eof(self.at))
    }

    /// Skips bytes.
    pub(super) fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// Consumes `byte`.
    pub(super) fn take(&mut self, byte: u8, expected: &'static str) -> Result<(), Error> {
        if self.peek()? != byte {
            return Err(Error::expected(expected, self.at));
        }
        self.at += 1;
        Ok(())
    }

    /// Consumes the opening brace of an object.
    pub(super) fn enter_object(&mut self) -> Result<ObjectState, Error> {
        self.take(b'{', "an object")?;
        Ok(ObjectState { is_first: true })
    }

    /// Reads the name of the next field up to the colon. Consumes the closing brace and returns `None` after the last
    /// field.
    pub(super) fn next_field(&mut self, fields: &mut ObjectState) -> Result<Option<RawString<'a>>, Error> {
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(None);
        }
        if !std::mem::replace(&mut fields.is_first, false) {
            self.take(b',', "a comma or a closing brace")?;
        }
        if self.peek()? != b'"' {
            return Err(Error::expected("a field name", self.at));
        }
        let name = self.string()?;
        self.take(b':', "a colon")?;
        Ok(Some(name))
    }

    /// Reads a string.
    pub(super) fn string(&mut self) -> Result<RawString<'a>, Error> {
        self.take(b'"', "a string")?;
        let offset = self.at;
        let mut has_escapes = false;
        loop {
            self.at += unescaped_len(&self.text[self.at..]);
            match self.text.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    has_escapes = true;
                    self.at = (self.at + 2).min(self.text.len());
                }
                Some(_) => return Err(Error::expected("a string without control characters", self.at)),
                None => return Err(Error::unexpected_eof(self.at)),
            }
        }
        let raw = &self.text[offset..self.at];
        self.at += 1;
        Ok(RawString {
            raw,
            has_escapes,
            offset,
        })
    }

    /// Reads a string, or `None` for `null`, as Go does.
    pub(super) fn string_or_null(&mut self) -> Result<Option<RawString<'a>>, Error> {
        if self.take_null()? {
            return Ok(None);
        }
        self.string().map(Some)
    }

    /// Consumes `null` if it is next, and returns whether it was.
    pub(super) fn take_null(&mut self) -> Result<bool, Error> {
        let is_null = self.peek()? == b'n' && self.text[self.at..].starts_with(b"null");
        if is_null {
            self.at += 4;
        }
        Ok(is_null)
    }

    /// Skips a value and returns its text. Only finds its end and does not validate it.
    pub(super) fn skip_value(&mut self) -> Result<&'a [u8], Error> {
        let first = self.peek()?;
        let start = self.at;
        if first == b'"' {
            self.string()?;
        } else {
            if ends_word(first) && first != b'{' && first != b'[' {
                return Err(Error::expected("a value", start));
            }
            let rest = &self.text[start..];
            self.at += Scanner::at(first)
                .end(rest)
                .ok_or_else(|| Error::unexpected_eof(self.text.len()))?;
        }
        Ok(&self.text[start..self.at])
    }

    /// Skips a number, `true`, `false` or `null`. Does not check the byte after it.
    pub(super) fn skip_literal(&mut self) -> Result<(), Error> {
        let rest = &self.text[self.at..];
        let len = if matches!(rest.first(), Some(b'-' | b'0'..=b'9')) {
            number_len(rest)
        } else {
            let words: [&[u8]; 3] = [b"true", b"false", b"null"];
            words
                .into_iter()
                .find(|word| rest.starts_with(word))
                .map(<[u8]>::len)
        };
        self.at += len.ok_or_else(|| Error::expected("a value", self.at))?;
        Ok(())
    }

    /// Checks that only white space is left.
    pub(super) fn expect_end(&mut self) -> Result<(), Error> {
        match self.peek() {
            Ok(_) => Err(Error::expected("end of input", self.at)),
            Err(_) => Ok(()),
        }
    }
}

impl<'a> RawString<'a> {
    /// Checks that all escapes are valid in JSON. Does not check that surrogates are paired.
    pub(super) fn check_escapes(self) -> Result<(), Error> {
        let mut at = 0;
        while self.has_escapes
            && let Some(next) = memchr::memchr(b'\\', &self.raw[at..])
        {
            at += next;
            at += match &self.raw[at + 1..] {
                [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
                [b'u', hex @ ..] if hex.len() >= 4 && hex[..4].iter().all(u8::is_ascii_hexdigit) => 6,
                _ => return Err(Error::expected("a valid escape", self.offset + at)),
            };
        }
        Ok(())
    }

    /// Returns whether the string is equal to `text`.
    pub(super) fn equals(self, text: &str) -> bool {
        if self.has_escapes {
            return self.text().is_ok_and(|own| own == text);
        }
        self.raw == text.as_bytes()
    }

    /// Position in the text.
    pub(super) fn offset(self) -> usize {
        self.offset
    }

    pub(super) fn has_escapes(self) -> bool {
        self.has_escapes
    }

    /// Returns the string; allocates only if it has escapes.
    pub(super) fn text(self) -> Result<Cow<'a, str>, Error> {
        if !self.has_escapes {
            return self.borrowed_text().map(Cow::Borrowed);
        }
        let quoted = [b"\"", self.raw, b"\""].concat();
        let text: String = serde_json::from_slice(&quoted)
            .map_err(|error| Error::decode(&quoted, 0, &error).offset_by(self.offset - 1))?;
        Ok(Cow::Owned(text))
    }

    /// Returns the string, which must have no escapes.
    pub(super) fn borrowed_text(self) -> Result<&'a str, Error> {
        std::str::from_utf8(self.raw)
            .map_err(|error| Error::expected("valid UTF-8", self.offset + error.valid_up_to()))
    }
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// Returns the number of bytes before the next quote, backslash or control character.
fn unescaped_len(text: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let (words, rest) = text.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // A byte below the limit borrows into its highest bit and may then borrow from the byte above it. The lowest
        // set bit is correct.
        let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
        let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
        let ends = (equal(b'"') | equal(b'\\') | below(word, 0x20)) & (ONES << 7);
        if ends != 0 {
            return at * 8 + ends.trailing_zeros() as usize / 8;
        }
    }
    let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    text.len() - rest.len() + rest.iter().position(ends).unwrap_or(rest.len())
}

/// Returns the length of a number, in bytes.
fn number_len(text: &[u8]) -> Option<usize> {
    let digits = |at: usize| text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let some_digits = |at: usize| Some(digits(at)).filter(|count| *count > 0);
    let mut at = usize::from(text.first() == Some(&b'-'));
    at += if text.get(at) == Some(&b'0') {
        1
    } else {
        some_digits(at)?
    };
    if text.get(at) == Some(&b'.') {
        at += 1 + some_digits(at + 1)?;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        at += some_digits(at)?;
    }
    Some(at)
}
