//! Conversion from protobuf to JSON.
//!
//! A message is read in two steps. First its fields are collected, because protobuf allows any order, repetition, and
//! messages that are split into several parts. Then the object is built field by field as Go would print it,
//! including absent fields that JSON contains.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::convert::{
    Double, IntOrText, check_wire_type, decode_time_text, double, int_or_string, low_32_bits, quantity,
    single_field, string,
};
use super::error::ProtobufErrorKind;
use super::field_reader::{Content, FieldReader};
use super::{Envelope, Error, MAGIC, MAX_DEPTH};
use crate::table::{Container, FieldDescriptor, MessageId, OmitRule, Shape, Table, ValueKind, table};

/// Decodes messages.
///
/// An empty message has two bytes in protobuf and can be a large object in JSON. The number of values is therefore
/// limited in relation to the length of the input. Objects that Kubernetes writes are well below the limit.
#[derive(Debug)]
pub(super) struct Decoder {
    table: &'static Table,
    values_left: usize,
}

/// Number of values that any input may have.
pub(super) const BASE_VALUES: usize = 4096;
/// Number of additional values per byte of input.
pub(super) const VALUES_PER_BYTE: usize = 2;

/// The parts of one message.
#[derive(Debug, Default)]
struct MessageParts<'a> {
    first: &'a [u8],
    /// Rare: most messages have one part.
    more: Vec<&'a [u8]>,
}

/// The collected content of a field.
#[derive(Debug)]
enum Slot<'a> {
    Absent,
    Single(Content<'a>),
    Message(MessageParts<'a>),
    List(Vec<Value>),
    Map(Map<String, Value>),
}

impl Decoder {
    pub(super) fn new(input: usize) -> Self {
        Self {
            table: table(),
            values_left: input.saturating_mul(VALUES_PER_BYTE).saturating_add(BASE_VALUES),
        }
    }

    /// Decodes the object in an envelope, including its apiVersion and kind.
    pub(super) fn envelope(&mut self, envelope: &Envelope<'_>, depth: usize) -> Result<Value, Error> {
        let Envelope {
            api_version, kind, ..
        } = *envelope;
        let id = self
            .table
            .kind(api_version, kind)
            .ok_or_else(|| Error::unknown_kind(api_version, kind))?;
        let mut object = Map::new();
        object.insert("apiVersion".into(), api_version.into());
        object.insert("kind".into(), kind.into());
        self.object(id, &MessageParts::one(envelope.raw), depth, &mut object)?;
        Ok(Value::Object(object))
    }

    /// Decodes a message without an envelope.
    pub(super) fn message(&mut self, id: MessageId, bytes: &[u8]) -> Result<Value, Error> {
        self.pieces(id, &MessageParts::one(bytes), 0)
    }

    fn pieces(&mut self, id: MessageId, pieces: &MessageParts<'_>, depth: usize) -> Result<Value, Error> {
        let shape = id.shape;
        if shape == Shape::Object {
            let mut object = Map::new();
            self.object(id, pieces, depth, &mut object)?;
            return Ok(Value::Object(object));
        }
        let mut allows = false;
        let mut schema = None;
        for (field, slot) in self.gather(id, pieces, depth)? {
            match (slot, field.kind) {
                (Slot::List(values), _) => return Ok(Value::Array(values)),
                (Slot::Message(pieces), ValueKind::Message(id)) => schema = Some((id, pieces)),
                (Slot::Single(Content::Varint(value)), _) => allows = value != 0,
                _ => {}
            }
        }
        match (schema, shape) {
            (Some((id, pieces)), _) => self.pieces(id, &pieces, depth + 1),
            (None, Shape::List) => Ok(Value::Array(Vec::new())),
            (None, Shape::SchemaOrBool) => Ok(Value::Bool(allows)),
            (None, _) => Ok(Value::Null),
        }
    }

    /// Adds the fields of a message to an object.
    fn object(
        &mut self,
        id: MessageId,
        pieces: &MessageParts<'_>,
        depth: usize,
        object: &mut Map<String, Value>,
    ) -> Result<(), Error> {
        for (field, slot) in self.gather(id, pieces, depth)? {
            if let (true, ValueKind::Message(id)) = (field.inline, field.kind) {
                let pieces = match slot {
                    Slot::Message(pieces) => pieces,
                    _ => MessageParts::default(),
                };
                self.object(id, &pieces, depth + 1, object)?;
            } else if let Some(value) = self
                .field_value(field, slot, depth)
                .map_err(|error| error.in_field(field.name))?
            {
                object.insert(field.name.to_owned(), value);
            }
        }
        Ok(())
    }

    fn gather<'a>(
        &mut self,
        id: MessageId,
        pieces: &MessageParts<'a>,
        depth: usize,
    ) -> Result<Vec<(&'static FieldDescriptor, Slot<'a>)>, Error> {
        if depth >= MAX_DEPTH {
            return Err(ProtobufErrorKind::TooDeep.into());
        }
        let fields = self.table.fields(self.table.message(id));
        let mut slots: Vec<_> = fields.iter().map(|field| (field, Slot::Absent)).collect();
        for piece in pieces.iter() {
            let mut reader = FieldReader::of(piece);
            while let Some((number, content)) = reader.next()? {
                let known = fields.binary_search_by(|field| u64::from(field.number).cmp(&number));
                // Fields that are not in the table are newer than the table.
                let Some((field, slot)) = known.ok().and_then(|at| slots.get_mut(at)) else {
                    continue;
                };
                self.add(field, content, slot, depth).map_err(|error| {
                    if field.inline {
                        error
                    } else {
                        error.in_field(field.name)
                    }
                })?;
            }
        }
        Ok(slots)
    }

    /// Adds one occurrence of a field to its slot.
    fn add<'a>(
        &mut self,
        field: &FieldDescriptor,
        content: Content<'a>,
        slot: &mut Slot<'a>,
        depth: usize,
    ) -> Result<(), Error> {
        check_wire_type(field, content)?;
        match (field.container, field.kind) {
            (Container::List, kind) => {
                if !matches!(slot, Slot::List(_)) {
                    *slot = Slot::List(Vec::new());
                }
                let Slot::List(values) = slot else { return Ok(()) };
                if let (ValueKind::Bool | ValueKind::Int32 | ValueKind::Int64, Content::Bytes(packed)) =
                    (kind, content)
                {
                    let mut numbers = FieldReader::of(packed);
                    while let Some(number) = numbers.next_packed()? {
                        values.push(self.value(kind, Content::Varint(number), depth)?);
                    }
                } else {
                    let value = self.value(kind, content, depth);
                    values.push(value.map_err(|error| error.at_index(values.len()))?);
                }
            }
            (Container::Map, kind) => {
                if !matches!(slot, Slot::Map(_)) {
                    *slot = Slot::Map(Map::new());
                }
                let Slot::Map(entries) = slot else { return Ok(()) };
                let (key, value) = self.entry(kind, content.bytes()?, depth)?;
                entries.insert(key, value);
            }
            (Container::Single, ValueKind::Message(_)) => match slot {
                Slot::Message(pieces) => pieces.more.push(content.bytes()?),
                _ => *slot = Slot::Message(MessageParts::one(content.bytes()?)),
            },
            (Container::Single, kind) => {
                // The earlier value is replaced, but must be valid.
                if let Slot::Single(earlier) = slot {
                    self.value(kind, *earlier, depth)?;
                }
                *slot = Slot::Single(content);
            }
        }
        Ok(())
    }

    fn entry(&mut self, kind: ValueKind, entry: &[u8], depth: usize) -> Result<(String, Value), Error> {
        let mut key: &[u8] = b"";
        let mut content = None;
        let mut fields = FieldReader::of(entry);
        while let Some((number, found)) = fields.next()? {
            match number {
                1 => key = found.bytes()?,
                2 => content = Some(found),
                _ => {}
            }
        }
        let key = string(key).into_owned();
        let value = match content {
            Some(content) => self.value(kind, content, depth),
            None => self.zero_value(kind, depth),
        };
        match value {
            Ok(value) => Ok((key, value)),
            Err(error) => Err(error.at_key(&key)),
        }
    }

    /// Returns the JSON value of a field, or `None` if JSON omits it.
    fn field_value(
        &mut self,
        field: &FieldDescriptor,
        slot: Slot<'_>,
        depth: usize,
    ) -> Result<Option<Value>, Error> {
        let value = match slot {
            Slot::List(values) => Value::Array(values),
            Slot::Map(entries) => Value::Object(entries),
            Slot::Single(content) => self.value(field.kind, content, depth)?,
            Slot::Message(pieces) => match field.kind {
                ValueKind::Message(id) => self.nested_message(id, &pieces, depth)?,
                _ => Value::Null,
            },
            Slot::Absent if field.is_nil_when_absent() => {
                return if field.omit_rule == OmitRule::WhenEmpty {
                    Ok(None)
                } else {
                    self.count_value()?;
                    Ok(Some(Value::Null))
                };
            }
            Slot::Absent => self.zero_value(field.kind, depth)?,
        };
        let omitted = match field.omit_rule {
            OmitRule::WhenEmpty => !field.pointer && is_empty(field.kind, &value),
            OmitRule::WhenZeroTime => value.is_null(),
            OmitRule::Never => false,
        };
        Ok((!omitted).then_some(value))
    }

    fn value(&mut self, kind: ValueKind, content: Content<'_>, depth: usize) -> Result<Value, Error> {
        if let ValueKind::Message(id) = kind {
            return self.nested_message(id, &MessageParts::one(content.bytes()?), depth);
        }
        self.count_value()?;
        Ok(match kind {
            ValueKind::String => string(content.bytes()?).into(),
            ValueKind::Bool => Value::Bool(content.varint()? != 0),
            ValueKind::Int32 => low_32_bits(content.varint()?).into(),
            ValueKind::Int64 => content.varint()?.cast_signed().into(),
            ValueKind::Double => match double(content.double()?)? {
                Double::Integer(value) => value.into(),
                Double::Float(value) => value.into(),
            },
            ValueKind::Bytes => Value::String(STANDARD.encode(content.bytes()?)),
            ValueKind::Time | ValueKind::MicroTime => {
                match decode_time_text(content.bytes()?, kind == ValueKind::MicroTime)? {
                    Some(text) => text.as_str().into(),
                    None => Value::Null,
                }
            }
            ValueKind::Quantity => quantity(content.bytes()?)?.into(),
            ValueKind::IntOrString => match int_or_string(content.bytes()?)? {
                IntOrText::Int(value) => value.into(),
                IntOrText::Text(text) => text.into(),
            },
            ValueKind::Json => match single_field(content.bytes()?)? {
                None | Some(b"") => Value::Null,
                Some(raw) if raw.starts_with(MAGIC) => self.envelope(&Envelope::parse(raw)?, depth + 1)?,
                Some(raw) => serde_json::from_slice(raw).map_err(|error| Error::not_json(&error))?,
            },
            ValueKind::Message(_) => Value::Null,
        })
    }

    /// Returns the JSON value of an absent value.
    fn zero_value(&mut self, kind: ValueKind, depth: usize) -> Result<Value, Error> {
        if let ValueKind::Message(id) = kind {
            return self.nested_message(id, &MessageParts::default(), depth);
        }
        self.count_value()?;
        Ok(match kind {
            ValueKind::String | ValueKind::Bytes => "".into(),
            ValueKind::Bool => false.into(),
            ValueKind::Int32 | ValueKind::Int64 | ValueKind::Double | ValueKind::IntOrString => 0.into(),
            ValueKind::Quantity => "0".into(),
            ValueKind::Time | ValueKind::MicroTime | ValueKind::Json | ValueKind::Message(_) => Value::Null,
        })
    }

    fn nested_message(
        &mut self,
        id: MessageId,
        pieces: &MessageParts<'_>,
        depth: usize,
    ) -> Result<Value, Error> {
        self.count_value()?;
        self.pieces(id, pieces, depth + 1)
    }

    fn count_value(&mut self) -> Result<(), Error> {
        self.values_left = self
            .values_left
            .checked_sub(1)
            .ok_or(ProtobufErrorKind::TooLarge)?;
        Ok(())
    }
}

impl<'a> MessageParts<'a> {
    fn one(first: &'a [u8]) -> Self {
        Self {
            first,
            more: Vec::new(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &'a [u8]> {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }
}

/// Returns whether Go's JSON encoder considers the value empty. Objects never are.
fn is_empty(kind: ValueKind, value: &Value) -> bool {
    match (kind, value) {
        (ValueKind::String | ValueKind::Bytes, Value::String(text)) => text.is_empty(),
        (ValueKind::Bool, Value::Bool(value)) => !value,
        (ValueKind::Int32 | ValueKind::Int64 | ValueKind::Double, Value::Number(number)) => {
            number.as_f64() == Some(0.0)
        }
        (ValueKind::Message(_), Value::Array(values)) => values.is_empty(),
        _ => false,
    }
}
