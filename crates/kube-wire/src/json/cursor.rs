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
            let Some(len) = plain_len(&self.text[self.at..]) else {
                return Err(Error::cut_short(self.text.len()));
            };
            self.at += len;
            if self.text[self.at] == b'"' {
                let raw = &self.text[offset..self.at];
                self.at += 1;
                return Ok(Str {
                    raw,
                    has_escapes,
                    offset,
                });
            }
            has_escapes = true;
            self.at = (self.at + 2).min(self.text.len());
        }
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
    /// That it is a string as JSON has them. Whether its escapes are characters is not asked.
    pub(super) fn check(self) -> Result<(), Error> {
        let mut control = false;
        for byte in self.raw {
            control |= *byte < 0x20;
        }
        let wrong = |at| {
            Error::expected(
                "a string without control characters and unknown escapes",
                self.offset + at,
            )
        };
        if control {
            return Err(wrong(
                self.raw.iter().position(|byte| *byte < 0x20).unwrap_or_default(),
            ));
        }
        let mut at = 0;
        while self.has_escapes
            && let Some(next) = memchr::memchr(b'\\', &self.raw[at..])
        {
            at += next;
            at += match &self.raw[at + 1..] {
                [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
                [b'u', hex @ ..] if hex.len() >= 4 && hex[..4].iter().all(u8::is_ascii_hexdigit) => 6,
                _ => return Err(wrong(at)),
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
            .map_err(|error| Error::decode(&quoted, 0, error).after(self.offset - 1))?;
        Ok(Cow::Owned(text))
    }

    /// What it says, if it has no escapes.
    pub(super) fn plain(self) -> Result<&'a str, Error> {
        let wrong = |at| Error::expected("text in UTF-8 without control characters", self.offset + at);
        if let Some(at) = self.raw.iter().position(|byte| matches!(byte, 0..0x20)) {
            return Err(wrong(at));
        }
        std::str::from_utf8(self.raw).map_err(|error| wrong(error.valid_up_to()))
    }
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// How many bytes stand before the next quote or backslash.
fn plain_len(text: &[u8]) -> Option<usize> {
    // Most strings are shorter than it takes to begin a search by vectors.
    const NEAR: usize = 16;
    let near = text.len().min(NEAR);
    if let Some(at) = text[..near].iter().position(|byte| matches!(byte, b'"' | b'\\')) {
        return Some(at);
    }
    memchr::memchr2(b'"', b'\\', &text[near..]).map(|at| near + at)
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
