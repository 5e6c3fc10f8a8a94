//! From protobuf to JSON.
//!
//! A message is read in two steps. First its fields are gathered: protobuf lets them come in any order and more than
//! once, the pieces of a message being one message. Then the object is put together field by field as Go would print it,
//! those included that are not on the wire and yet are in JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::error::Reason;
use super::forms::{
    Double, IntOrText, check, double, int_or_string, low_half, only_field, quantity, string, time_of,
};
use super::read::{Content, Fields};
use super::{Envelope, Error, MAGIC, MAX_DEPTH};
use crate::table::{Container, Field, Kind, MessageId, Omitted, Shape, Table, table};

/// Reads messages of what has come in one piece.
///
/// An empty message is two bytes on the wire and can be a large object in JSON. So that a few megabytes of them do not
/// become gigabytes, there may be only so many values for the bytes that came; what Kubernetes writes has fewer.
#[derive(Debug)]
pub(super) struct Decoder {
    table: &'static Table,
    values_left: usize,
}

/// Values that any message may have, however short.
pub(super) const VALUES: usize = 4096;
/// Values per byte beyond that.
pub(super) const VALUES_PER_BYTE: usize = 2;

/// The pieces of one message.
#[derive(Debug, Default)]
struct Pieces<'a> {
    first: &'a [u8],
    /// More than one piece is allowed, and rare.
    more: Vec<&'a [u8]>,
}

/// What is known of a field after the message has been read to its end.
#[derive(Debug)]
enum Slot<'a> {
    Absent,
    One(Content<'a>),
    Message(Pieces<'a>),
    List(Vec<Value>),
    Map(Map<String, Value>),
}

impl Decoder {
    pub(super) fn new(input: usize) -> Self {
        Self {
            table: table(),
            values_left: input.saturating_mul(VALUES_PER_BYTE).saturating_add(VALUES),
        }
    }

    /// The object in an envelope, with its apiVersion and kind.
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
        self.object(id, &Pieces::one(envelope.raw), depth, &mut object)?;
        Ok(Value::Object(object))
    }

    /// A message without its envelope.
    pub(super) fn message(&mut self, id: MessageId, bytes: &[u8]) -> Result<Value, Error> {
        self.pieces(id, &Pieces::one(bytes), 0)
    }

    fn pieces(&mut self, id: MessageId, pieces: &Pieces<'_>, depth: usize) -> Result<Value, Error> {
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
                (Slot::Message(pieces), Kind::Message(id)) => schema = Some((id, pieces)),
                (Slot::One(Content::Varint(value)), _) => allows = value != 0,
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

    /// Adds a message's fields to an object.
    fn object(
        &mut self,
        id: MessageId,
        pieces: &Pieces<'_>,
        depth: usize,
        object: &mut Map<String, Value>,
    ) -> Result<(), Error> {
        for (field, slot) in self.gather(id, pieces, depth)? {
            if let (true, Kind::Message(id)) = (field.inline, field.kind) {
                let pieces = match slot {
                    Slot::Message(pieces) => pieces,
                    _ => Pieces::default(),
                };
                self.object(id, &pieces, depth + 1, object)?;
            } else if let Some(value) = self
                .printed(field, slot, depth)
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
        pieces: &Pieces<'a>,
        depth: usize,
    ) -> Result<Vec<(&'static Field, Slot<'a>)>, Error> {
        if depth >= MAX_DEPTH {
            return Err(Reason::TooDeep.into());
        }
        let fields = self.table.fields(self.table.message(id));
        let mut slots: Vec<_> = fields.iter().map(|field| (field, Slot::Absent)).collect();
        for piece in pieces.iter() {
            let mut reader = Fields::of(piece);
            while let Some((number, content)) = reader.next()? {
                let known = fields.binary_search_by(|field| u64::from(field.number).cmp(&number));
                // Fields that are not known are newer than the table.
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

    /// Adds what one occurrence of a field holds to what was there.
    fn add<'a>(
        &mut self,
        field: &Field,
        content: Content<'a>,
        slot: &mut Slot<'a>,
        depth: usize,
    ) -> Result<(), Error> {
        check(field, content)?;
        match (field.container, field.kind) {
            (Container::List, kind) => {
                if !matches!(slot, Slot::List(_)) {
                    *slot = Slot::List(Vec::new());
                }
                let Slot::List(values) = slot else { return Ok(()) };
                if let (Kind::Bool | Kind::Int32 | Kind::Int64, Content::Bytes(packed)) = (kind, content) {
                    let mut numbers = Fields::of(packed);
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
            (Container::One, Kind::Message(_)) => match slot {
                Slot::Message(pieces) => pieces.more.push(content.bytes()?),
                _ => *slot = Slot::Message(Pieces::one(content.bytes()?)),
            },
            (Container::One, kind) => {
                // It does not count any more, but has to be right.
                if let Slot::One(earlier) = slot {
                    self.value(kind, *earlier, depth)?;
                }
                *slot = Slot::One(content);
            }
        }
        Ok(())
    }

    fn entry(&mut self, kind: Kind, entry: &[u8], depth: usize) -> Result<(String, Value), Error> {
        let mut key: &[u8] = b"";
        let mut content = None;
        let mut fields = Fields::of(entry);
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
            None => self.zero(kind, depth),
        };
        match value {
            Ok(value) => Ok((key, value)),
            Err(error) => Err(error.at_key(&key)),
        }
    }

    /// What JSON has for a field; `None` when it is left out.
    fn printed(&mut self, field: &Field, slot: Slot<'_>, depth: usize) -> Result<Option<Value>, Error> {
        let value = match slot {
            Slot::List(values) => Value::Array(values),
            Slot::Map(entries) => Value::Object(entries),
            Slot::One(content) => self.value(field.kind, content, depth)?,
            Slot::Message(pieces) => match field.kind {
                Kind::Message(id) => self.nested(id, &pieces, depth)?,
                _ => Value::Null,
            },
            Slot::Absent if field.is_nil_when_absent() => {
                return if field.omitted == Omitted::WhenEmpty {
                    Ok(None)
                } else {
                    self.spend()?;
                    Ok(Some(Value::Null))
                };
            }
            Slot::Absent => self.zero(field.kind, depth)?,
        };
        let omitted = match field.omitted {
            Omitted::WhenEmpty => !field.pointer && is_empty(field.kind, &value),
            Omitted::WhenZeroTime => value.is_null(),
            Omitted::Never => false,
        };
        Ok((!omitted).then_some(value))
    }

    fn value(&mut self, kind: Kind, content: Content<'_>, depth: usize) -> Result<Value, Error> {
        if let Kind::Message(id) = kind {
            return self.nested(id, &Pieces::one(content.bytes()?), depth);
        }
        self.spend()?;
        Ok(match kind {
            Kind::String => string(content.bytes()?).into(),
            Kind::Bool => Value::Bool(content.varint()? != 0),
            Kind::Int32 => low_half(content.varint()?).into(),
            Kind::Int64 => content.varint()?.cast_signed().into(),
            Kind::Double => match double(content.double()?)? {
                Double::Whole(value) => value.into(),
                Double::Other(value) => value.into(),
            },
            Kind::Bytes => Value::String(STANDARD.encode(content.bytes()?)),
            Kind::Time | Kind::MicroTime => match time_of(content.bytes()?, kind == Kind::MicroTime)? {
                Some(text) => text.as_str().into(),
                None => Value::Null,
            },
            Kind::Quantity => quantity(content.bytes()?)?.into(),
            Kind::IntOrString => match int_or_string(content.bytes()?)? {
                IntOrText::Int(value) => value.into(),
                IntOrText::Text(text) => text.into(),
            },
            Kind::Json => match only_field(content.bytes()?)? {
                None | Some(b"") => Value::Null,
                Some(raw) if raw.starts_with(MAGIC) => self.envelope(&Envelope::parse(raw)?, depth + 1)?,
                Some(raw) => serde_json::from_slice(raw).map_err(|error| Error::not_json(&error))?,
            },
            Kind::Message(_) => Value::Null,
        })
    }

    /// What JSON has for a value of which the wire has nothing.
    fn zero(&mut self, kind: Kind, depth: usize) -> Result<Value, Error> {
        if let Kind::Message(id) = kind {
            return self.nested(id, &Pieces::default(), depth);
        }
        self.spend()?;
        Ok(match kind {
            Kind::String | Kind::Bytes => "".into(),
            Kind::Bool => false.into(),
            Kind::Int32 | Kind::Int64 | Kind::Double | Kind::IntOrString => 0.into(),
            Kind::Quantity => "0".into(),
            Kind::Time | Kind::MicroTime | Kind::Json | Kind::Message(_) => Value::Null,
        })
    }

    fn nested(&mut self, id: MessageId, pieces: &Pieces<'_>, depth: usize) -> Result<Value, Error> {
        self.spend()?;
        self.pieces(id, pieces, depth + 1)
    }

    fn spend(&mut self) -> Result<(), Error> {
        self.values_left = self.values_left.checked_sub(1).ok_or(Reason::TooLarge)?;
        Ok(())
    }
}

impl<'a> Pieces<'a> {
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

/// Whether Go's JSON takes it for empty; objects never are.
fn is_empty(kind: Kind, value: &Value) -> bool {
    match (kind, value) {
        (Kind::String | Kind::Bytes, Value::String(text)) => text.is_empty(),
        (Kind::Bool, Value::Bool(value)) => !value,
        (Kind::Int32 | Kind::Int64 | Kind::Double, Value::Number(number)) => number.as_f64() == Some(0.0),
        (Kind::Message(_), Value::Array(values)) => values.is_empty(),
        _ => false,
    }
}
