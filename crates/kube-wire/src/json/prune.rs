//! Text without the fields that are left out.

use super::cursor::{Cursor, Str};
use super::head::metadata_of;
use super::once::Once;
use super::{Error, MAX_DEPTH};
use crate::FieldMask;
use crate::field_mask::Within;

/// Appends an object's text to `out`, without the fields that are left out and without white space between what is kept.
///
/// What is kept is whole JSON, in the order in which it came. What is left out is not looked at, except for its end.
/// As in [`decode`](super::decode()), a field that says what the object is must not be there twice. After an error `out` is as
/// it was.
///
/// ```
/// use kube_wire::{FieldMask, json};
///
/// let text = br#"{ "metadata": {"managedFields": [{}], "name": "a"}, "spec": [1, 2] }"#;
/// let mut out = Vec::new();
/// json::prune(text, &FieldMask::managed_fields(), &mut out)?;
/// assert_eq!(out, br#"{"metadata":{"name":"a"},"spec":[1,2]}"#);
/// # Ok::<(), json::Error>(())
/// ```
pub fn prune(text: &[u8], mask: &FieldMask, out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    let mut pruner = Pruner {
        text,
        cursor: Cursor::new(text),
        run: 0,
        out,
    };
    let pruned = pruner
        .value(mask.start(), Once::OBJECT, 0)
        .and_then(|()| pruner.flush())
        .and_then(|()| pruner.cursor.end());
    pruned.map_err(|error| {
        out.truncate(start);
        error.within(text)
    })
}

/// Appends the text of an object that has nothing but what others are chosen by: labels, uid, owners, finalizers and
/// times, all in `metadata`. [`matches`](super::matches()) and [`label`](super::label()) say the same of it as of the whole
/// object. After an error `out` is as it was.
///
/// ```
/// use kube_wire::json;
///
/// let text = br#"{"metadata":{"name":"a","uid":"7","labels":{"app":"web"},"annotations":{"b":"c"}},"spec":{}}"#;
/// let mut out = Vec::new();
/// json::outline(text, &mut out)?;
/// assert_eq!(out, br#"{"metadata":{"uid":"7","labels":{"app":"web"}}}"#);
/// # Ok::<(), json::Error>(())
/// ```
///
/// # Errors
/// It is no object, or it has no `metadata`.
pub fn outline(text: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    let mut write = || {
        let mut cursor = metadata_of(text)?.ok_or_else(|| Error::expected("metadata", text.len()))?;
        cursor.peek()?;
        let within = FieldMask::all_but_an_outline()
            .start()
            .field("metadata")
            .unwrap_or(Within::KEPT);
        out.extend_from_slice(br#"{"metadata":"#);
        let mut pruner = Pruner {
            text,
            run: cursor.offset(),
            cursor,
            out,
        };
        pruner.value(within, Once::METADATA, 1)?;
        pruner.flush()?;
        out.push(b'}');
        Ok(())
    };
    write().map_err(|error: Error| {
        out.truncate(start);
        error.within(text)
    })
}

struct Pruner<'a, 'o> {
    text: &'a [u8],
    cursor: Cursor<'a>,
    /// From here to the cursor everything is kept, and not yet copied.
    run: usize,
    out: &'o mut Vec<u8>,
}

impl<'a> Pruner<'a, '_> {
    /// Copies a value that may have something to leave out.
    fn value(&mut self, within: Within<'_>, once: Once, depth: u32) -> Result<(), Error> {
        let first = self.peek()?;
        if within.is_kept() && once.is_any() {
            return self.kept(depth);
        }
        match first {
            b'{' => self.object(within, once, depth + 1),
            b'[' => self.list(within, depth + 1),
            _ => self.kept(depth),
        }
    }

    fn object(&mut self, within: Within<'_>, mut once: Once, depth: u32) -> Result<(), Error> {
        self.check(depth)?;
        self.cursor.pass(1);
        let mut is_first = true;
        let mut is_first_kept = true;
        loop {
            let ends = self.peek()? == b'}';
            self.flush()?;
            if ends {
                self.cursor.pass(1);
                return Ok(());
            }
            if !std::mem::replace(&mut is_first, false) {
                // Whether there is a comma depends on what is kept before it and after it.
                self.cursor.take(b',', "a comma or the end")?;
                self.run = self.cursor.offset();
                self.peek()?;
            }
            let name = self.name()?;
            let text = name.text()?;
            let Some(inner) = within.field(&text) else {
                self.cursor.take(b':', "a colon")?;
                self.cursor.value()?;
                self.run = self.cursor.offset();
                continue;
            };
            once.see(|known| known == text)
                .map_err(|_| Error::twice(name.offset()))?;
            if !std::mem::replace(&mut is_first_kept, false) {
                self.out.push(b',');
            }
            self.colon()?;
            self.value(inner, once.of_field(&text), depth)?;
        }
    }

    /// Lists take no step of their own: something may be left out of each element.
    fn list(&mut self, within: Within<'_>, depth: u32) -> Result<(), Error> {
        self.check(depth)?;
        self.cursor.pass(1);
        if self.peek()? != b']' {
            loop {
                self.value(within, Once::ANY, depth)?;
                if self.peek()? == b']' {
                    break;
                }
                self.cursor.take(b',', "a comma or the end")?;
            }
        }
        self.cursor.pass(1);
        Ok(())
    }

    /// Copies a value of which everything is kept.
    fn kept(&mut self, depth: u32) -> Result<(), Error> {
        // A bit for each bracket that is open, the innermost lowest: whether it is an object's.
        let mut open: u128 = 0;
        let mut levels = 0;
        loop {
            match self.peek()? {
                bracket @ (b'{' | b'[') => {
                    let is_object = bracket == b'{';
                    levels += 1;
                    self.check(depth + levels)?;
                    self.cursor.pass(1);
                    open = open << 1 | u128::from(is_object);
                    let next = self.peek()?;
                    if next != if is_object { b'}' } else { b']' } {
                        if is_object {
                            self.field()?;
                        }
                        continue;
                    }
                }
                b'"' => {
                    self.string()?;
                }
                _ => self.cursor.word()?,
            }
            loop {
                if levels == 0 {
                    return Ok(());
                }
                match (self.peek()?, open & 1 == 1) {
                    (b',', is_object) => {
                        self.cursor.pass(1);
                        if is_object {
                            self.field()?;
                        }
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        self.cursor.pass(1);
                        open >>= 1;
                        levels -= 1;
                    }
                    _ => return Err(Error::expected("a comma or the end", self.cursor.offset())),
                }
            }
        }
    }

    fn field(&mut self) -> Result<(), Error> {
        self.name()?;
        self.colon()
    }

    fn name(&mut self) -> Result<Str<'a>, Error> {
        if self.peek()? != b'"' {
            return Err(Error::expected("a field's name", self.cursor.offset()));
        }
        self.string()
    }

    fn colon(&mut self) -> Result<(), Error> {
        self.peek()?;
        self.cursor.take(b':', "a colon")
    }

    fn string(&mut self) -> Result<Str<'a>, Error> {
        let string = self.cursor.string()?;
        string.check_escapes()?;
        Ok(string)
    }

    /// The next byte that is not white space, which is not copied.
    fn peek(&mut self) -> Result<u8, Error> {
        let before = self.cursor.offset();
        let byte = self.cursor.peek()?;
        if self.cursor.offset() != before {
            self.copy_to(before)?;
            self.run = self.cursor.offset();
        }
        Ok(byte)
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.copy_to(self.cursor.offset())
    }

    /// A run ends between two values, so never inside of a character.
    fn copy_to(&mut self, end: usize) -> Result<(), Error> {
        let run = &self.text[self.run..end];
        if let Err(error) = std::str::from_utf8(run) {
            return Err(Error::expected("text in UTF-8", self.run + error.valid_up_to()));
        }
        self.out.extend_from_slice(run);
        self.run = end;
        Ok(())
    }

    fn check(&self, depth: u32) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::too_deep(self.cursor.offset()));
        }
        Ok(())
    }
}
