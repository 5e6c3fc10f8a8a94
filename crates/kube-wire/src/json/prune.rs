//! Removal of masked fields from JSON text.

use super::cursor::{Cursor, RawString};
use super::duplicate_check::DuplicateCheck;
use super::head::metadata_of;
use super::{Error, MAX_DEPTH};
use crate::FieldMask;
use crate::field_mask::SubMask;

/// Appends the text of an object to `out`, without the masked fields and without white space.
///
/// Keeps the order of fields. Masked fields are skipped without validation; everything else is valid JSON.
///
/// # Errors
/// Returns an error if the text is not valid JSON, or if fields that identify or select the object are duplicates, as
/// in [`decode`](super::decode()). `out` is unchanged in this case.
///
/// # Examples
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
    let mut pruner = TextPruner {
        text,
        cursor: Cursor::new(text),
        run_start: 0,
        out,
    };
    let pruned = pruner
        .value(mask.root(), DuplicateCheck::OBJECT, 0)
        .and_then(|()| pruner.flush())
        .and_then(|()| pruner.cursor.expect_end());
    pruned.map_err(|error| {
        out.truncate(start);
        error.locate(text)
    })
}

/// Appends an object with only the metadata for selecting objects: labels, uid, owners, finalizers and times.
///
/// [`matches`](super::matches()) and [`label`](super::label()) return the same for it as for the whole object.
///
/// # Errors
/// Returns an error if the text is not an object or has no `metadata`. `out` is unchanged in this case.
///
/// # Examples
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
pub fn outline(text: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    let mut write = || {
        let mut cursor = metadata_of(text)?.ok_or_else(|| Error::expected("metadata", text.len()))?;
        cursor.peek()?;
        let mask = FieldMask::outline_mask()
            .root()
            .field("metadata")
            .unwrap_or(SubMask::EMPTY);
        out.extend_from_slice(br#"{"metadata":"#);
        let mut pruner = TextPruner {
            text,
            run_start: cursor.offset(),
            cursor,
            out,
        };
        pruner.value(mask, DuplicateCheck::METADATA, 1)?;
        pruner.flush()?;
        out.push(b'}');
        Ok(())
    };
    write().map_err(|error: Error| {
        out.truncate(start);
        error.locate(text)
    })
}

struct TextPruner<'a, 'o> {
    text: &'a [u8],
    cursor: Cursor<'a>,
    /// Start of the text that is kept and not copied yet. It ends at the cursor.
    run_start: usize,
    out: &'o mut Vec<u8>,
}

impl<'a> TextPruner<'a, '_> {
    /// Copies a value of which a part may be masked.
    fn value(&mut self, mask: SubMask<'_>, duplicates: DuplicateCheck, depth: u32) -> Result<(), Error> {
        let first = self.peek()?;
        if mask.is_empty() && duplicates.is_disabled() {
            return self.copy_value(depth);
        }
        match first {
            b'{' => self.object(mask, duplicates, depth + 1),
            b'[' => self.list(mask, depth + 1),
            _ => self.copy_value(depth),
        }
    }

    fn object(&mut self, mask: SubMask<'_>, mut duplicates: DuplicateCheck, depth: u32) -> Result<(), Error> {
        self.check_depth(depth)?;
        self.cursor.skip(1);
        let mut is_first = true;
        let mut is_first_kept = true;
        loop {
            let ends = self.peek()? == b'}';
            self.flush()?;
            if ends {
                self.cursor.skip(1);
                return Ok(());
            }
            if !std::mem::replace(&mut is_first, false) {
                // A comma is needed only between fields that are kept.
                self.cursor.take(b',', "a comma or a closing bracket")?;
                self.run_start = self.cursor.offset();
                self.peek()?;
            }
            let name = self.name()?;
            let text = name.text()?;
            let Some(inner) = mask.field(&text) else {
                self.cursor.take(b':', "a colon")?;
                self.cursor.skip_value()?;
                self.run_start = self.cursor.offset();
                continue;
            };
            duplicates
                .record(|known| known == text)
                .map_err(|_| Error::duplicate_field(name.offset()))?;
            if !std::mem::replace(&mut is_first_kept, false) {
                self.out.push(b',');
            }
            self.colon()?;
            self.value(inner, duplicates.for_field(&text), depth)?;
        }
    }

    /// Lists add no segment to a path: the mask applies to each element.
    fn list(&mut self, mask: SubMask<'_>, depth: u32) -> Result<(), Error> {
        self.check_depth(depth)?;
        self.cursor.skip(1);
        if self.peek()? != b']' {
            loop {
                self.value(mask, DuplicateCheck::NONE, depth)?;
                if self.peek()? == b']' {
                    break;
                }
                self.cursor.take(b',', "a comma or a closing bracket")?;
            }
        }
        self.cursor.skip(1);
        Ok(())
    }

    /// Copies a value of which no part is masked.
    fn copy_value(&mut self, depth: u32) -> Result<(), Error> {
        // One bit per open bracket, the innermost lowest: 1 for an object, 0 for a list.
        let mut open: u128 = 0;
        let mut levels = 0;
        loop {
            match self.peek()? {
                bracket @ (b'{' | b'[') => {
                    let is_object = bracket == b'{';
                    levels += 1;
                    self.check_depth(depth + levels)?;
                    self.cursor.skip(1);
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
                _ => self.cursor.skip_literal()?,
            }
            loop {
                if levels == 0 {
                    return Ok(());
                }
                match (self.peek()?, open & 1 == 1) {
                    (b',', is_object) => {
                        self.cursor.skip(1);
                        if is_object {
                            self.field()?;
                        }
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        self.cursor.skip(1);
                        open >>= 1;
                        levels -= 1;
                    }
                    _ => {
                        return Err(Error::expected(
                            "a comma or a closing bracket",
                            self.cursor.offset(),
                        ));
                    }
                }
            }
        }
    }

    fn field(&mut self) -> Result<(), Error> {
        self.name()?;
        self.colon()
    }

    fn name(&mut self) -> Result<RawString<'a>, Error> {
        if self.peek()? != b'"' {
            return Err(Error::expected("a field name", self.cursor.offset()));
        }
        self.string()
    }

    fn colon(&mut self) -> Result<(), Error> {
        self.peek()?;
        self.cursor.take(b':', "a colon")
    }

    fn string(&mut self) -> Result<RawString<'a>, Error> {
        let string = self.cursor.string()?;
        string.check_escapes()?;
        Ok(string)
    }

    /// Returns the next byte that is not white space. White space is not copied.
    fn peek(&mut self) -> Result<u8, Error> {
        let before = self.cursor.offset();
        let byte = self.cursor.peek()?;
        if self.cursor.offset() != before {
            self.copy_to(before)?;
            self.run_start = self.cursor.offset();
        }
        Ok(byte)
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.copy_to(self.cursor.offset())
    }

    /// Copies up to `end`, which is between two values and never within a character.
    fn copy_to(&mut self, end: usize) -> Result<(), Error> {
        let run = &self.text[self.run_start..end];
        if let Err(error) = std::str::from_utf8(run) {
            return Err(Error::expected(
                "valid UTF-8",
                self.run_start + error.valid_up_to(),
            ));
        }
        self.out.extend_from_slice(run);
        self.run_start = end;
        Ok(())
    }

    fn check_depth(&self, depth: u32) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::too_deep(self.cursor.offset()));
        }
        Ok(())
    }
}
