//! Walking through text, value by value, and reading only what is wanted.

use std::borrow::Cow;

use super::Error;
use super::scan::{Scanner, ends_word};

/// A place in a text.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// A string as it stands in the text, between its quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Str<'a> {
    raw: &'a [u8],
    has_escapes: bool,
    offset: usize,
}

/// An object whose fields are being walked through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    is_first: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a [u8]) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    /// How many bytes stand before this place.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// The next byte that is not white space; it is not passed.
    pub(super) fn peek(&mut self) -> Result<u8, Error> {
        while let Some(byte) = self.text.get(self.at) {
            if !is_space(*byte) {
                return Ok(*byte);
            }
            self.at += 1;
        }
        Err(Error::cut_short(self.at))
    }

    /// Passes bytes that have been looked at.
    pub(super) fn pass(&mut self, count: usize) {
        self.at += count;
    }

    /// Passes this byte.
    pub(super) fn take(&mut self, byte: u8, what: &'static str) -> Result<(), Error> {
        if self.peek()? != byte {
            return Err(Error::expected(what, self.at));
        }
        self.at += 1;
        Ok(())
    }

    /// Enters an object.
    pub(super) fn fields(&mut self) -> Result<Fields, Error> {
        self.take(b'{', "an object")?;
        Ok(Fields { is_first: true })
    }

    /// The name of the next field, or none at the object's end, which is passed. The value comes next.
    pub(super) fn field(&mut self, fields: &mut Fields) -> Result<Option<Str<'a>>, Error> {
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(None);
        }
        if !std::mem::replace(&mut fields.is_first, false) {
            self.take(b',', "a comma or the object's end")?;
        }
        if self.peek()? != b'"' {
            return Err(Error::expected("a field's name", self.at));
        }
        let name = self.string()?;
        self.take(b':', "a colon")?;
        Ok(Some(name))
    }

    /// A string.
    pub(super) fn string(&mut self) -> Result<Str<'a>, Error> {
        self.take(b'"', "a string")?;
        let offset = self.at;
        let mut has_escapes = false;
        loop {
            self.at += plain_len(&self.text[self.at..]);
            match self.text.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    has_escapes = true;
                    self.at = (self.at + 2).min(self.text.len());
                }
                Some(_) => return Err(Error::expected("a string without control characters", self.at)),
                None => return Err(Error::cut_short(self.at)),
            }
        }
        let raw = &self.text[offset..self.at];
        self.at += 1;
        Ok(Str {
            raw,
            has_escapes,
            offset,
        })
    }

    /// A string, or `null`, which Go writes and reads as nothing.
    pub(super) fn string_or_null(&mut self) -> Result<Option<Str<'a>>, Error> {
        if self.take_null()? {
            return Ok(None);
        }
        self.string().map(Some)
    }

    /// Whether `null` comes next; it is passed.
    pub(super) fn take_null(&mut self) -> Result<bool, Error> {
        let is_null = self.peek()? == b'n' && self.text[self.at..].starts_with(b"null");
        if is_null {
            self.at += 4;
        }
        Ok(is_null)
    }

    /// Passes a value, of which little more than the end is looked at.
    pub(super) fn value(&mut self) -> Result<&'a [u8], Error> {
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
                .ok_or_else(|| Error::cut_short(self.text.len()))?;
        }
        Ok(&self.text[start..self.at])
    }

    /// Passes a number, `true`, `false` or `null`. What comes next is not looked at.
    pub(super) fn word(&mut self) -> Result<(), Error> {
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

    /// Nothing but white space is left.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        match self.peek() {
            Ok(_) => Err(Error::expected("the end", self.at)),
            Err(_) => Ok(()),
        }
    }
}

impl<'a> Str<'a> {
    /// That its escapes are some that JSON has. Whether they are characters is not asked.
    pub(super) fn check_escapes(self) -> Result<(), Error> {
        let mut at = 0;
        while self.has_escapes
            && let Some(next) = memchr::memchr(b'\\', &self.raw[at..])
        {
            at += next;
            at += match &self.raw[at + 1..] {
                [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
                [b'u', hex @ ..] if hex.len() >= 4 && hex[..4].iter().all(u8::is_ascii_hexdigit) => 6,
                _ => return Err(Error::expected("an escape that JSON has", self.offset + at)),
            };
        }
        Ok(())
    }

    /// Whether it says this.
    pub(super) fn is(self, text: &str) -> bool {
        if self.has_escapes {
            return self.text().is_ok_and(|own| own == text);
        }
        self.raw == text.as_bytes()
    }

    /// Where it stands.
    pub(super) fn offset(self) -> usize {
        self.offset
    }

    pub(super) fn has_escapes(self) -> bool {
        self.has_escapes
    }

    /// What it says; of its own only where it has escapes.
    pub(super) fn text(self) -> Result<Cow<'a, str>, Error> {
        if !self.has_escapes {
            return self.plain().map(Cow::Borrowed);
        }
        let quoted = [b"\"", self.raw, b"\""].concat();
        let text: String = serde_json::from_slice(&quoted)
            .map_err(|error| Error::decode(&quoted, 0, &error).after(self.offset - 1))?;
        Ok(Cow::Owned(text))
    }

    /// What it says, if it has no escapes.
    pub(super) fn plain(self) -> Result<&'a str, Error> {
        std::str::from_utf8(self.raw)
            .map_err(|error| Error::expected("text in UTF-8", self.offset + error.valid_up_to()))
    }
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// How many bytes stand before the next that ends a plain part of a string: a quote, a backslash or a control character.
fn plain_len(text: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let (words, rest) = text.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // A byte below the limit borrows into its highest bit, and then maybe from the byte above it: the lowest is right.
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

/// How many bytes a number has.
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
