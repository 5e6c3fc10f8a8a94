//! From protobuf to any type that serde can read, with no other form in between.
//!
//! A type sees what it would see of the object's JSON, so that it does not matter in which of the two forms an object came.
//! [`decode`](super::decode) is the reference: whatever it prints is what is shown here.
//!
//! Messages are read in one pass, in the order of the wire, which is enough for what Kubernetes writes: each field once,
//! the values of a list together, the keys of a map in order. Protobuf allows more. An object that makes use of it is read
//! again, this time [gathering](gathered) each message's fields before any is shown.

mod elements;
mod entries;
mod gathered;
mod members;
mod message;
mod texts;
mod value;

use std::cell::Cell;

use serde::Deserialize;

use self::message::Message;
use self::texts::Texts;
use self::value::{Held, Object, Value};
use super::Error;
use super::decode::{VALUES, VALUES_PER_BYTE};
use super::error::Reason;
use crate::field_mask::FieldMask;
use crate::table::{Kind, MessageId, Table, table};

/// What all values of an object have in common while it is read.
#[derive(Debug)]
pub(super) struct Reading<'de> {
    table: &'static Table,
    texts: Texts<'de>,
    /// Whether fields are gathered, and errors say where they are.
    careful: bool,
    /// Whether something was found that only a careful reader gets right. It is kept here, too, because a type may do
    /// without a value that is an error.
    scattered: Cell<bool>,
    /// How many more values may be shown of which the wire has nothing.
    values_left: Cell<usize>,
}

impl<'de> Reading<'de> {
    fn new(input: &'de [u8], careful: bool) -> Self {
        Self {
            table: table(),
            texts: Texts::of(input),
            careful,
            scattered: Cell::new(false),
            values_left: Cell::new(input.len().saturating_mul(VALUES_PER_BYTE).saturating_add(VALUES)),
        }
    }

    #[cold]
    fn scattered(&self) -> Error {
        self.scattered.set(true);
        Reason::Scattered.into()
    }

    fn spend(&self) -> Result<(), Error> {
        let left = self.values_left.get().checked_sub(1).ok_or(Reason::TooLarge)?;
        self.values_left.set(left);
        Ok(())
    }
}

/// Reads something of an object, carefully if it has to be.
fn read<'de, T>(input: &'de [u8], read: impl Fn(&Reading<'de>) -> Result<T, Error>) -> Result<T, Error> {
    let quick = Reading::new(input, false);
    let result = read(&quick);
    // A type may also have refused what did not count. If it is wrong in any case, that is found again, and where.
    if quick.scattered.get() || result.is_err() {
        return read(&Reading::new(input, true));
    }
    result
}

/// Reads an object: its type, then the fields of its message.
pub(super) fn object<'de, T: Deserialize<'de>>(
    api_version: &'de str,
    kind: &'de str,
    id: MessageId,
    message: &'de [u8],
    mask: &FieldMask,
) -> Result<T, Error> {
    let object = Object {
        api_version,
        kind,
        message,
    };
    read(message, |reading| {
        let value = Value {
            reading,
            held: Held::Object(&object),
            kind: Kind::Message(id),
            within: mask.start(),
            depth: 0,
        };
        T::deserialize(&value)
    })
}

/// Reads one field of a message; none if JSON does not have it.
pub(super) fn field<'de, T: Deserialize<'de>>(
    id: MessageId,
    name: &str,
    message: &'de [u8],
    mask: &FieldMask,
) -> Result<Option<T>, Error> {
    read(message, |reading| {
        let mut fields = if reading.careful {
            Message::gathered(reading, id, std::iter::once(Ok(message)), mask.start(), 0)?
        } else {
            Message::of(reading, id, message, mask.start(), 0)
        };
        let mut found = None;
        // Also after it has been found, because there may be more of it.
        while let Some(field) = fields.advance()? {
            if field.name == name {
                let value = T::deserialize(&fields.value());
                found = Some(value.map_err(|error| error.in_field(field.name))?);
            }
        }
        Ok(found)
    })
}
