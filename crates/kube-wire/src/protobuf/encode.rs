//! Conversion from JSON to protobuf.
//!
//! Produces the same bytes as gogo-proto in Kubernetes: fields are sorted by number, and values that Go does not hold
//! by pointer are written even if they are zero.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::error::ProtobufErrorKind;
use super::writer::Writer;
use super::{Error, MAX_DEPTH, time};
use crate::table::{Container, FieldDescriptor, MessageId, Shape, Table, ValueKind, table};

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

    /// Writes the fields of a message, without its length.
    pub(super) fn message(&mut self, id: MessageId, value: &Value, depth: usize) -> Result<(), Error> {
        if depth >= MAX_DEPTH {
            return Err(ProtobufErrorKind::TooDeep.into());
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

    /// Writes a schema or one of its alternatives, except a list.
    fn schema(
        &mut self,
        fields: &'static [FieldDescriptor],
        value: &Value,
        depth: usize,
    ) -> Result<(), Error> {
        for field in fields.iter().rev() {
            match (field.kind, value) {
                (ValueKind::Message(_), Value::Object(_)) if field.container == Container::Single => {
                    self.field(field, Some(value), depth)?;
                }
                (ValueKind::Bool, Value::Object(_)) => self.writer.varint_field(field.number, 1),
                (ValueKind::Bool, Value::Bool(_) | Value::Null) => self.field(field, Some(value), depth)?,
                (ValueKind::Bool, _) => return Err(Error::expected("a boolean or a schema")),
                _ => {}
            }
        }
        Ok(())
    }

    fn object(&mut self, id: MessageId, object: &Map<String, Value>, depth: usize) -> Result<(), Error> {
        let fields = self.table.fields(self.table.message(id));
        for field in fields.iter().rev() {
            if let (true, ValueKind::Message(id)) = (field.inline, field.kind) {
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

    /// Writes a field with its tag.
    fn field(&mut self, field: &FieldDescriptor, value: Option<&Value>, depth: usize) -> Result<(), Error> {
        match (field.container, value) {
            (Container::Single, Some(value)) => self.value(field.number, field.kind, value, depth),
            // Nil is not written.
            (Container::Single, None) if field.is_nil_when_absent() => Ok(()),
            (Container::Single, None) => self.value(field.number, field.kind, &Value::Null, depth),
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

    fn entry(
        &mut self,
        field: &FieldDescriptor,
        key: &str,
        value: &Value,
        depth: usize,
    ) -> Result<(), Error> {
        let before = self.writer.len();
        if !(field.kind == ValueKind::Bytes && value.is_null()) {
            self.value(2, field.kind, value, depth)?;
        }
        self.writer.bytes_field(1, key.as_bytes());
        self.writer.close_since(field.number, before);
        Ok(())
    }

    /// Writes one value as a field. `null` is the zero value.
    pub(super) fn value(
        &mut self,
        number: u16,
        kind: ValueKind,
        value: &Value,
        depth: usize,
    ) -> Result<(), Error> {
        match kind {
            ValueKind::String => self.writer.bytes_field(number, text(value)?.as_bytes()),
            ValueKind::Bool => match value {
                Value::Bool(value) => self.writer.varint_field(number, u64::from(*value)),
                Value::Null => self.writer.varint_field(number, 0),
                _ => return Err(Error::expected("a boolean")),
            },
            ValueKind::Int32 => self.writer.varint_field(number, sign_extended(int32(value)?)),
            ValueKind::Int64 => {
                let value = int64(value).ok_or_else(|| Error::expected("a 64-bit integer"))?;
                self.writer.varint_field(number, value.cast_unsigned());
            }
            ValueKind::Double => {
                let value = if value.is_null() {
                    Some(0.0)
                } else {
                    value.as_f64()
                };
                let value = value.ok_or_else(|| Error::expected("a number"))?;
                self.writer.double_field(number, value);
            }
            ValueKind::Bytes => {
                let bytes = STANDARD.decode(text(value)?);
                let bytes = bytes.map_err(|error| Error::invalid(format!("invalid base64: {error}")))?;
                self.writer.bytes_field(number, &bytes);
            }
            _ => {
                let before = self.writer.len();
                self.nested_message(kind, value, depth)?;
                self.writer.close_since(number, before);
            }
        }
        Ok(())
    }

    /// Writes the content of a value that is a message in protobuf.
    fn nested_message(&mut self, kind: ValueKind, value: &Value, depth: usize) -> Result<(), Error> {
        match (kind, value) {
            (ValueKind::Message(id), _) => self.message(id, value, depth + 1)?,
            (ValueKind::Time | ValueKind::MicroTime | ValueKind::Json, Value::Null) => {}
            (ValueKind::Json, _) => self.writer.bytes_field(1, value.to_string().as_bytes()),
            (ValueKind::Time | ValueKind::MicroTime, _) => {
                let (seconds, nanos) =
                    time::parse(text(value)?).ok_or_else(|| Error::expected("an RFC 3339 time"))?;
                let nanos = if kind == ValueKind::Time {
                    0
                } else {
                    nanos / 1000 * 1000
                };
                if (seconds, nanos) != (time::ZERO, 0) {
                    self.writer.varint_field(2, sign_extended(nanos));
                    self.writer.varint_field(1, seconds.cast_unsigned());
                }
            }
            (ValueKind::Quantity, Value::Null) => self.writer.bytes_field(1, b"0"),
            (ValueKind::Quantity, Value::Number(number)) => {
                self.writer.bytes_field(1, number.to_string().as_bytes());
            }
            (ValueKind::Quantity, _) => self.writer.bytes_field(1, text(value)?.trim().as_bytes()),
            (ValueKind::IntOrString, Value::String(text)) => {
                self.writer.bytes_field(3, text.as_bytes());
                self.writer.varint_field(2, 0);
                self.writer.varint_field(1, 1);
            }
            (ValueKind::IntOrString, _) => {
                let int = int32(value).map_err(|_| Error::expected("a string or a 32-bit integer"))?;
                self.writer.bytes_field(3, b"");
                self.writer.varint_field(2, sign_extended(int));
                self.writer.varint_field(1, 0);
            }
            (
                ValueKind::String
                | ValueKind::Bool
                | ValueKind::Int32
                | ValueKind::Int64
                | ValueKind::Double
                | ValueKind::Bytes,
                _,
            ) => {
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

/// Protobuf encodes negative numbers with 64 bits.
fn sign_extended(value: i32) -> u64 {
    i64::from(value).cast_unsigned()
}
