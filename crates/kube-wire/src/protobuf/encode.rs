//! From JSON to protobuf, as gogo-proto writes it.
//!
//! Fields are in the order of their numbers, and what Go holds by value is written even when it is zero, so that a
//! message has the same bytes as one from Kubernetes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::error::Reason;
use super::write::Writer;
use super::{Error, MAX_DEPTH, time};
use crate::table::{Container, Field, Kind, MessageId, Shape, Table, table};

/// Writes messages from the end to the beginning.
#[derive(Debug)]
pub(super) struct Encoder {
    table: &'static Table,
    pub(super) writer: Writer,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self {
            table: table(),
            writer: Writer::default(),
        }
    }

    /// A message's fields, not its length.
    pub(super) fn message(&mut self, id: MessageId, value: &Value, depth: usize) -> Result<(), Error> {
        if depth >= MAX_DEPTH {
            return Err(Reason::TooDeep.into());
        }
        let message = self.table.message(id);
        let fields = self.table.fields(message);
        match (message.shape, value) {
            (Shape::Object, Value::Object(object)) => self.object(id, object, depth),
            (Shape::Object, Value::Null) => self.object(id, &Map::new(), depth),
            (Shape::Object, _) => Err(Error::expected("an object")),
            (Shape::List, Value::Null) => Ok(()),
            (_, Value::Array(_)) => match fields.iter().find(|field| field.container == Container::List) {
                Some(field) => self.field(field, Some(value), depth),
                None => Err(Error::expected("a boolean or a schema")),
            },
            (Shape::List, _) => Err(Error::expected("a list")),
            (Shape::SchemaOrBool | Shape::SchemaOrList, _) => self.schema(fields, value, depth),
        }
    }

    /// A schema or what can stand for it, except a list.
    fn schema(&mut self, fields: &'static [Field], value: &Value, depth: usize) -> Result<(), Error> {
        for field in fields.iter().rev() {
            match (field.kind, value) {
                (Kind::Message(_), Value::Object(_)) if field.container == Container::One => {
                    self.field(field, Some(value), depth)?;
                }
                (Kind::Bool, Value::Object(_)) => self.writer.varint_field(field.number, 1),
                (Kind::Bool, Value::Bool(_) | Value::Null) => self.field(field, Some(value), depth)?,
                (Kind::Bool, _) => return Err(Error::expected("a boolean or a schema")),
                _ => {}
            }
        }
        Ok(())
    }

    fn object(&mut self, id: MessageId, object: &Map<String, Value>, depth: usize) -> Result<(), Error> {
        let fields = self.table.fields(self.table.message(id));
        for field in fields.iter().rev() {
            if let (true, Kind::Message(id)) = (field.inline, field.kind) {
                let before = self.writer.len();
                self.object(id, object, depth)?;
                self.writer.close_since(field.number, before);
            } else {
                let value = object.get(field.name).filter(|value| !value.is_null());
                self.field(field, value, depth)
                    .map_err(|error| error.in_field(field.name))?;
            }
        }
        Ok(())
    }

    /// All that a field holds, with its head.
    fn field(&mut self, field: &Field, value: Option<&Value>, depth: usize) -> Result<(), Error> {
        match (field.container, value) {
            (Container::One, Some(value)) => self.value(field.number, field.kind, value, depth),
            // Nil is not written.
            (Container::One, None) if field.is_nil_when_absent() => Ok(()),
            (Container::One, None) => self.value(field.number, field.kind, &Value::Null, depth),
            (_, None) => Ok(()),
            (Container::List, Some(Value::Array(values))) => {
                for (index, value) in values.iter().enumerate().rev() {
                    self.value(field.number, field.kind, value, depth)
                        .map_err(|error| error.at_index(index))?;
                }
                Ok(())
            }
            (Container::Map, Some(Value::Object(entries))) => {
                let mut entries: Vec<_> = entries.iter().collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                for (key, value) in entries.into_iter().rev() {
                    self.entry(field, key, value, depth)
                        .map_err(|error| error.at_key(key))?;
                }
                Ok(())
            }
            (Container::List, Some(_)) => Err(Error::expected("a list")),
            (Container::Map, Some(_)) => Err(Error::expected("an object")),
        }
    }

    fn entry(&mut self, field: &Field, key: &str, value: &Value, depth: usize) -> Result<(), Error> {
        let before = self.writer.len();
        if !(field.kind == Kind::Bytes && value.is_null()) {
            self.value(2, field.kind, value, depth)?;
        }
        self.writer.bytes_field(1, key.as_bytes());
        self.writer.close_since(field.number, before);
        Ok(())
    }

    /// One value as a field; null is the zero value.
    pub(super) fn value(
        &mut self,
        number: u16,
        kind: Kind,
        value: &Value,
        depth: usize,
    ) -> Result<(), Error> {
        match kind {
            Kind::String => self.writer.bytes_field(number, text(value)?.as_bytes()),
            Kind::Bool => match value {
                Value::Bool(value) => self.writer.varint_field(number, u64::from(*value)),
                Value::Null => self.writer.varint_field(number, 0),
                _ => return Err(Error::expected("a boolean")),
            },
            Kind::Int32 => self.writer.varint_field(number, sign_extended(int32(value)?)),
            Kind::Int64 => {
                let value = int64(value).ok_or_else(|| Error::expected("a 64-bit integer"))?;
                self.writer.varint_field(number, value.cast_unsigned());
            }
            Kind::Double => {
                let value = if value.is_null() {
                    Some(0.0)
                } else {
                    value.as_f64()
                };
                let value = value.ok_or_else(|| Error::expected("a number"))?;
                self.writer.double_field(number, value);
            }
            Kind::Bytes => {
                let bytes = STANDARD.decode(text(value)?);
                let bytes = bytes.map_err(|error| Error::invalid(format!("not base64: {error}")))?;
                self.writer.bytes_field(number, &bytes);
            }
            _ => {
                let before = self.writer.len();
                self.nested(kind, value, depth)?;
                self.writer.close_since(number, before);
            }
        }
        Ok(())
    }

    /// The content of a value that is a message on the wire.
    fn nested(&mut self, kind: Kind, value: &Value, depth: usize) -> Result<(), Error> {
        match (kind, value) {
            (Kind::Message(id), _) => self.message(id, value, depth + 1)?,
            (Kind::Time | Kind::MicroTime | Kind::Json, Value::Null) => {}
            (Kind::Json, _) => self.writer.bytes_field(1, value.to_string().as_bytes()),
            (Kind::Time | Kind::MicroTime, _) => {
                let (seconds, nanos) =
                    time::parse(text(value)?).ok_or_else(|| Error::expected("a time as in RFC 3339"))?;
                let nanos = if kind == Kind::Time {
                    0
                } else {
                    nanos / 1000 * 1000
                };
                if (seconds, nanos) != (time::ZERO, 0) {
                    self.writer.varint_field(2, sign_extended(nanos));
                    self.writer.varint_field(1, seconds.cast_unsigned());
                }
            }
            (Kind::Quantity, Value::Null) => self.writer.bytes_field(1, b"0"),
            (Kind::Quantity, Value::Number(number)) => {
                self.writer.bytes_field(1, number.to_string().as_bytes());
            }
            (Kind::Quantity, _) => self.writer.bytes_field(1, text(value)?.trim().as_bytes()),
            (Kind::IntOrString, Value::String(text)) => {
                self.writer.bytes_field(3, text.as_bytes());
                self.writer.varint_field(2, 0);
                self.writer.varint_field(1, 1);
            }
            (Kind::IntOrString, _) => {
                let int = int32(value).map_err(|_| Error::expected("a string or a 32-bit integer"))?;
                self.writer.bytes_field(3, b"");
                self.writer.varint_field(2, sign_extended(int));
                self.writer.varint_field(1, 0);
            }
            (Kind::String | Kind::Bool | Kind::Int32 | Kind::Int64 | Kind::Double | Kind::Bytes, _) => {
                return Err(Error::expected("a message"));
            }
        }
        Ok(())
    }
}

fn text(value: &Value) -> Result<&str, Error> {
    match value {
        Value::String(text) => Ok(text),
        Value::Null => Ok(""),
        _ => Err(Error::expected("a string")),
    }
}

fn int64(value: &Value) -> Option<i64> {
    if value.is_null() { Some(0) } else { value.as_i64() }
}

fn int32(value: &Value) -> Result<i32, Error> {
    int64(value)
        .and_then(|value| i32::try_from(value).ok())
        .ok_or_else(|| Error::expected("a 32-bit integer"))
}

/// Protobuf writes negative numbers with all 64 bits.
fn sign_extended(value: i32) -> u64 {
    i64::from(value).cast_unsigned()
}
