//! Decoding of protobuf into any type, without an intermediate representation.
//!
//! Types receive the same values as from the JSON of the object. [`decode`](super::decode) is the reference for these
//! values.
//!
//! Messages are read in one pass in the order of the encoding. This is sufficient for output of Kubernetes: it writes
//! every field once, the values of a list together, and the keys of a map in order. Protobuf allows more; messages
//! that make use of it are read a second time, with [buffered fields](buffered_fields).

mod buffered_fields;
mod elements;
mod entries;
mod members;
mod message;
mod utf8_cache;
mod value;

use std::cell::Cell;

use serde::Deserialize;

use self::message::MessageReader;
use self::utf8_cache::Utf8Cache;
use self::value::{TypedMessage, Value, ValueSource};
use super::Error;
use super::decode::{BASE_VALUES, VALUES_PER_BYTE};
use super::error::ProtobufErrorKind;
use crate::field_mask::FieldMask;
use crate::table::{MessageId, Table, ValueKind, table};

/// The state shared by all values of an object while it is decoded.
#[derive(Debug)]
pub(super) struct DecodeContext<'de> {
    table: &'static Table,
    texts: Utf8Cache<'de>,
    /// Whether this is the buffered pass, which also adds paths to errors.
    buffered: bool,
    /// Whether the object needs the buffered pass. Stored here as well, because a type may ignore the error.
    non_contiguous: Cell<bool>,
    /// Number of absent values that may still be returned.
    values_left: Cell<usize>,
}

impl<'de> DecodeContext<'de> {
    fn new(input: &'de [u8], buffered: bool) -> Self {
        Self {
            table: table(),
            texts: Utf8Cache::of(input),
            buffered,
            non_contiguous: Cell::new(false),
            values_left: Cell::new(
                input
                    .len()
                    .saturating_mul(VALUES_PER_BYTE)
                    .saturating_add(BASE_VALUES),
            ),
        }
    }

    #[cold]
    fn non_contiguous(&self) -> Error {
        self.non_contiguous.set(true);
        ProtobufErrorKind::NonContiguous.into()
    }

    fn count_value(&self) -> Result<(), Error> {
        let left = self
            .values_left
            .get()
            .checked_sub(1)
            .ok_or(ProtobufErrorKind::TooLarge)?;
        self.values_left.set(left);
        Ok(())
    }
}

/// Decodes an object in one pass, and with buffered fields if that fails.
fn read<'de, T>(
    input: &'de [u8],
    read: impl Fn(&DecodeContext<'de>) -> Result<T, Error>,
) -> Result<T, Error> {
    let quick = DecodeContext::new(input, false);
    let result = read(&quick);
    // The type may have rejected a value that a later one replaces. The buffered pass decides, and adds the path to
    // errors.
    if quick.non_contiguous.get() || result.is_err() {
        return read(&DecodeContext::new(input, true));
    }
    result
}

/// Decodes an object: its apiVersion and kind, then the fields of its message.
pub(super) fn object<'de, T: Deserialize<'de>>(
    api_version: &'de str,
    kind: &'de str,
    id: MessageId,
    message: &'de [u8],
    mask: &FieldMask,
) -> Result<T, Error> {
    let object = TypedMessage {
        api_version,
        kind,
        message,
    };
    read(message, |context| {
        let value = Value {
            context,
            source: ValueSource::Object(&object),
            kind: ValueKind::Message(id),
            mask: mask.root(),
            depth: 0,
        };
        T::deserialize(&value)
    })
}

/// Decodes one field of a message. Returns `None` if JSON does not contain it.
pub(super) fn field<'de, T: Deserialize<'de>>(
    id: MessageId,
    name: &str,
    message: &'de [u8],
    mask: &FieldMask,
) -> Result<Option<T>, Error> {
    read(message, |context| {
        let mut fields = if context.buffered {
            MessageReader::buffered(context, id, std::iter::once(Ok(message)), mask.root(), 0)?
        } else {
            MessageReader::of(context, id, message, mask.root(), 0)
        };
        let mut found = None;
        // Continue after the field was found, because it may have another part.
        while let Some(field) = fields.advance()? {
            if field.name == name {
                let value = T::deserialize(&fields.value());
                found = Some(value.map_err(|error| error.in_field(field.name))?);
            }
        }
        Ok(found)
    })
}
