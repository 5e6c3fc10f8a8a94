//! Deserialization of a single value of any type.
//!
//! Deserialized types announce the type that they expect. There are fast paths for matching values; other values are
//! presented as in JSON, and the type accepts or rejects them.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize as _;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error as _, Unexpected, Visitor};
use serde_json::Value as Json;

use super::super::convert::{
    Double, IntOrText, decode_time, decode_time_text, double, format_time, int_or_string, low_32_bits,
    quantity, single_field,
};
use super::super::field_reader::{Content, FieldRun};
use super::super::{Envelope, Error, MAGIC, time};
use super::DecodeContext;
use super::buffered_fields::{Occurrence, pieces};
use super::elements::{ElementSource, Elements};
use super::entries::MapEntries;
use super::members::Members;
use super::message::MessageReader;
use crate::field_mask::SubMask;
use crate::table::{Container, MessageId, Shape, ValueKind};

/// A value, or all values of a list or map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'de, 'x> {
    pub(super) context: &'x DecodeContext<'de>,
    pub(super) source: ValueSource<'de, 'x>,
    /// Type of a single value.
    pub(super) kind: ValueKind,
    pub(super) mask: SubMask<'x>,
    /// Nesting depth of the enclosing message.
    pub(super) depth: usize,
}

/// The encoded content of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValueSource<'de, 'x> {
    Null,
    /// An absent value, which is the zero value.
    Absent,
    Single(Content<'de>),
    /// A time in seconds and microseconds.
    Timestamp(i64, i32),
    List(Repeated<'de, 'x>),
    Map(Repeated<'de, 'x>),
    /// A message with several parts.
    Pieces(&'x [Occurrence<'de>]),
    /// The whole object.
    Object(&'x TypedMessage<'de>),
    /// apiVersion or kind of the object.
    Text(&'de str),
    /// A part of embedded JSON.
    Json(&'x Json),
}

/// A message with apiVersion and kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct TypedMessage<'de> {
    pub(super) api_version: &'de str,
    pub(super) kind: &'de str,
    pub(super) message: &'de [u8],
}

/// The occurrences of a list or map.
#[derive(Clone, Copy, Debug)]
pub(super) enum Repeated<'de, 'x> {
    Run(FieldRun<'de>),
    Buffered(&'x [Occurrence<'de>]),
}

/// A value in the form of its JSON.
#[derive(Debug)]
enum JsonView<'de, 'x> {
    Scalar(Scalar<'de, 'x>),
    Members(Members<'de, 'x>),
    Elements(Elements<'de, 'x>),
    /// The text of embedded JSON.
    Json(&'de [u8]),
}

/// A value without members or elements. A separate type because it is small.
#[derive(Debug)]
enum Scalar<'de, 'x> {
    Null,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    Text(Cow<'de, str>),
    TransientText(&'x str),
    Time(time::TimeText),
}

impl<'de, 'x> Value<'de, 'x> {
    fn json_view(&self) -> Result<JsonView<'de, 'x>, Error> {
        if let Some(scalar) = self.scalar()? {
            return Ok(JsonView::Scalar(scalar));
        }
        match (self.source, self.kind) {
            (ValueSource::List(Repeated::Run(run)), _) => {
                Ok(JsonView::Elements(self.elements(ElementSource::Run(run))))
            }
            (ValueSource::List(Repeated::Buffered(found)), _) => Ok(JsonView::Elements(
                self.elements(ElementSource::buffered(found.into())),
            )),
            (ValueSource::Map(Repeated::Run(run)), _) => {
                Ok(JsonView::Members(Members::map(self, MapEntries::run(run))))
            }
            (ValueSource::Map(Repeated::Buffered(found)), _) => Ok(JsonView::Members(Members::map(
                self,
                MapEntries::buffered(found, self)?,
            ))),
            (ValueSource::Object(object), ValueKind::Message(id)) => self.object(*object, id, self.depth),
            (ValueSource::Absent, ValueKind::Message(id)) => self.message(id, b"", self.depth + 1),
            (ValueSource::Single(content), ValueKind::Message(id)) => {
                self.message(id, content.bytes()?, self.depth + 1)
            }
            (ValueSource::Pieces(found), ValueKind::Message(id)) => self.pieces(id, found, self.depth + 1),
            (ValueSource::Single(content), _) => self.embedded_view(content),
            (ValueSource::Json(Json::Array(values)), _) => Ok(JsonView::Elements(
                self.elements(ElementSource::Json(values.iter())),
            )),
            (ValueSource::Json(Json::Object(members)), _) => {
                Ok(JsonView::Members(Members::json(self.context, self.mask, members)))
            }
            _ => Ok(JsonView::Scalar(Scalar::Null)),
        }
    }

    /// Returns the value if it is a scalar.
    fn scalar(&self) -> Result<Option<Scalar<'de, 'x>>, Error> {
        Ok(Some(match self.source {
            ValueSource::Single(content) => match self.kind {
                ValueKind::String => Scalar::Text(self.context.texts.text(content.bytes()?)),
                ValueKind::Bool => Scalar::Bool(content.varint()? != 0),
                ValueKind::Int32 => Scalar::Int(low_32_bits(content.varint()?).into()),
                ValueKind::Int64 => Scalar::Int(content.varint()?.cast_signed()),
                ValueKind::Double => match double(content.double()?)? {
                    Double::Integer(value) => Scalar::Int(value),
                    Double::Float(value) => Scalar::Float(value),
                },
                ValueKind::Bytes => Scalar::Text(Cow::Owned(STANDARD.encode(content.bytes()?))),
                ValueKind::Time | ValueKind::MicroTime => {
                    match decode_time_text(content.bytes()?, self.kind == ValueKind::MicroTime)? {
                        Some(text) => Scalar::Time(text),
                        None => Scalar::Null,
                    }
                }
                ValueKind::Quantity => Scalar::Text(quantity(content.bytes()?)?),
                ValueKind::IntOrString => match int_or_string(content.bytes()?)? {
                    IntOrText::Int(value) => Scalar::Int(value.into()),
                    IntOrText::Text(text) => Scalar::Text(text),
                },
                ValueKind::Json | ValueKind::Message(_) => return Ok(None),
            },
            ValueSource::Timestamp(seconds, micros) => {
                Scalar::Time(format_time(seconds, micros, self.kind == ValueKind::MicroTime)?)
            }
            ValueSource::Null => Scalar::Null,
            // The JSON values of absent fields.
            ValueSource::Absent => match self.kind {
                ValueKind::String | ValueKind::Bytes => Scalar::Text(Cow::Borrowed("")),
                ValueKind::Bool => Scalar::Bool(false),
                ValueKind::Int32 | ValueKind::Int64 | ValueKind::Double | ValueKind::IntOrString => {
                    Scalar::Int(0)
                }
                ValueKind::Quantity => Scalar::Text(Cow::Borrowed("0")),
                ValueKind::Time | ValueKind::MicroTime | ValueKind::Json => Scalar::Null,
                ValueKind::Message(_) => return Ok(None),
            },
            ValueSource::Text(text) => Scalar::Text(Cow::Borrowed(text)),
            ValueSource::Json(json) => match json {
                Json::Null => Scalar::Null,
                Json::Bool(value) => Scalar::Bool(*value),
                Json::Number(number) => match (number.as_u64(), number.as_i64()) {
                    (Some(value), _) => Scalar::Unsigned(value),
                    (None, Some(value)) => Scalar::Int(value),
                    (None, None) => Scalar::Float(number.as_f64().unwrap_or_default()),
                },
                Json::String(text) => Scalar::TransientText(text),
                Json::Array(_) | Json::Object(_) => return Ok(None),
            },
            ValueSource::List(_) | ValueSource::Map(_) | ValueSource::Pieces(_) | ValueSource::Object(_) => {
                return Ok(None);
            }
        }))
    }

    /// Returns the view of embedded JSON, or of an object in its envelope.
    fn embedded_view(&self, content: Content<'de>) -> Result<JsonView<'de, 'x>, Error> {
        match single_field(content.bytes()?)? {
            None | Some(b"") => Ok(JsonView::Scalar(Scalar::Null)),
            Some(raw) if raw.starts_with(MAGIC) => {
                let envelope = Envelope::parse(raw)?;
                let (api_version, kind) = (envelope.api_version, envelope.kind);
                let id = self.context.table.kind(api_version, kind);
                let id = id.ok_or_else(|| Error::unknown_kind(api_version, kind))?;
                let object = TypedMessage {
                    api_version,
                    kind,
                    message: envelope.raw,
                };
                self.object(object, id, self.depth + 1)
            }
            Some(raw) => Ok(JsonView::Json(raw)),
        }
    }

    fn object(
        &self,
        object: TypedMessage<'de>,
        id: MessageId,
        depth: usize,
    ) -> Result<JsonView<'de, 'x>, Error> {
        let message = self.single_message(id, object.message, depth)?;
        let visible = |name, text| self.mask.field(name).map(|_| (name, text));
        let head = [
            visible("apiVersion", object.api_version),
            visible("kind", object.kind),
        ];
        Ok(JsonView::Members(Members::object(head, message)))
    }

    fn message(&self, id: MessageId, message: &'de [u8], depth: usize) -> Result<JsonView<'de, 'x>, Error> {
        self.message_view(id, self.single_message(id, message, depth)?)
    }

    fn single_message(
        &self,
        id: MessageId,
        message: &'de [u8],
        depth: usize,
    ) -> Result<MessageReader<'de, 'x>, Error> {
        if self.context.buffered {
            let piece = std::iter::once(Ok(message));
            return MessageReader::buffered(self.context, id, piece, self.mask, depth);
        }
        Ok(MessageReader::of(self.context, id, message, self.mask, depth))
    }

    fn pieces(
        &self,
        id: MessageId,
        found: &[Occurrence<'de>],
        depth: usize,
    ) -> Result<JsonView<'de, 'x>, Error> {
        let message = MessageReader::buffered(self.context, id, pieces(found), self.mask, depth)?;
        self.message_view(id, message)
    }

    fn message_view(
        &self,
        id: MessageId,
        message: MessageReader<'de, 'x>,
    ) -> Result<JsonView<'de, 'x>, Error> {
        match id.shape {
            Shape::Object => Ok(JsonView::Members(Members::message(message))),
            shape => self.alternative_view(message, shape),
        }
    }

    /// Returns the view of a message that represents one of several alternatives.
    fn alternative_view(
        &self,
        mut message: MessageReader<'de, 'x>,
        shape: Shape,
    ) -> Result<JsonView<'de, 'x>, Error> {
        // Alternatives add no segment to a path.
        let mask = message.take_mask();
        let mut allows = false;
        let mut schema = None;
        let mut elements = None;
        while let Some(field) = message.advance()? {
            let inner = Value {
                kind: field.kind,
                mask,
                depth: message.depth(),
                ..*self
            };
            if field.container == Container::List {
                if let Some(ValueSource::List(Repeated::Run(run))) =
                    message.value_in_order().map(|list| list.source)
                {
                    // There may be more values after another field, and all of them must be valid.
                    elements = Some(inner.elements(ElementSource::Run(run)));
                    continue;
                }
                return match message.into_elements() {
                    Some(source) => Ok(JsonView::Elements(inner.elements(source))),
                    None => Ok(JsonView::Scalar(Scalar::Null)),
                };
            }
            match (inner.kind, message.value().source) {
                (ValueKind::Bool, ValueSource::Single(content)) => allows = content.varint()? != 0,
                (ValueKind::Message(id), ValueSource::Single(content)) => {
                    schema = Some(inner.message(id, content.bytes()?, inner.depth + 1)?);
                }
                (ValueKind::Message(id), ValueSource::Pieces(found)) => {
                    schema = Some(inner.pieces(id, found, inner.depth + 1)?);
                }
                _ => {}
            }
        }
        if let Some(elements) = elements {
            return Ok(JsonView::Elements(elements));
        }
        Ok(match (schema, shape) {
            (Some(schema), _) => schema,
            (None, Shape::List) => JsonView::Elements(self.elements(ElementSource::empty())),
            (None, Shape::SchemaOrBool) => JsonView::Scalar(Scalar::Bool(allows)),
            (None, _) => JsonView::Scalar(Scalar::Null),
        })
    }

    fn elements(&self, source: ElementSource<'de, 'x>) -> Elements<'de, 'x> {
        Elements {
            source,
            element: *self,
            index: 0,
        }
    }

    #[inline]
    fn is_null(&self) -> Result<bool, Error> {
        match (self.source, self.kind) {
            (
                ValueSource::Single(_),
                ValueKind::String
                | ValueKind::Bool
                | ValueKind::Int32
                | ValueKind::Int64
                | ValueKind::Quantity
                | ValueKind::IntOrString,
            )
            | (ValueSource::List(_) | ValueSource::Map(_) | ValueSource::Timestamp(..), _) => Ok(false),
            (ValueSource::Single(_), ValueKind::Message(id)) if id.shape == Shape::Object => Ok(false),
            _ => self.may_be_null(),
        }
    }

    fn may_be_null(&self) -> Result<bool, Error> {
        Ok(match (self.source, self.kind) {
            (ValueSource::Null | ValueSource::Json(Json::Null), _)
            | (ValueSource::Absent, ValueKind::Time | ValueKind::MicroTime | ValueKind::Json) => true,
            (ValueSource::Single(content), ValueKind::Time | ValueKind::MicroTime) => {
                decode_time(content.bytes()?, self.kind == ValueKind::MicroTime)?.is_none()
            }
            (ValueSource::Single(content), ValueKind::Json) => {
                let text = single_field(content.bytes()?)?.unwrap_or_default().trim_ascii();
                text.is_empty() || text == b"null"
            }
            (
                ValueSource::Absent | ValueSource::Single(_) | ValueSource::Pieces(_),
                ValueKind::Message(id),
            ) => {
                id.shape == Shape::SchemaOrList && matches!(self.json_view()?, JsonView::Scalar(Scalar::Null))
            }
            _ => false,
        })
    }

    /// Checks that a value is valid although a later one replaces it.
    pub(super) fn check(&self) -> Result<(), Error> {
        Json::deserialize(self).map(drop)
    }

    /// Visits a scalar.
    fn visit_scalar<V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Error> {
        if let Some(scalar) = self.scalar()? {
            return scalar.visit(visitor);
        }
        match self.json_view()? {
            JsonView::Json(text) => {
                let json = parse(text)?;
                self.with_json(&json).visit_scalar(visitor)
            }
            JsonView::Scalar(scalar) => scalar.visit(visitor),
            json_view => json_view.type_mismatch(&visitor),
        }
    }

    /// Visits an object or a list.
    fn visit_compound<V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Error> {
        match (self.source, self.kind) {
            (ValueSource::Single(Content::Bytes(bytes)), ValueKind::Message(id))
                if !self.context.buffered && id.shape == Shape::Object =>
            {
                return visitor.visit_map(&mut Members::message(MessageReader::of(
                    self.context,
                    id,
                    bytes,
                    self.mask,
                    self.depth + 1,
                )));
            }
            (ValueSource::List(Repeated::Run(run)), _) => {
                return visitor.visit_seq(&mut self.elements(ElementSource::Run(run)));
            }
            (ValueSource::Map(Repeated::Run(run)), _) => {
                return visitor.visit_map(&mut Members::map(self, MapEntries::run(run)));
            }
            _ => {}
        }
        match self.json_view()? {
            JsonView::Members(mut members) => visitor.visit_map(&mut members),
            JsonView::Elements(mut elements) => visitor.visit_seq(&mut elements),
            JsonView::Json(text) => {
                let json = parse(text)?;
                self.with_json(&json).visit_compound(visitor)
            }
            json_view @ JsonView::Scalar(_) => json_view.type_mismatch(&visitor),
        }
    }

    /// Returns the same value with its parsed text.
    fn with_json<'y>(&self, json: &'y Json) -> Value<'de, 'y>
    where
        'x: 'y,
    {
        Value {
            source: ValueSource::Json(json),
            ..*self
        }
    }
}

impl<'de> Scalar<'de, '_> {
    #[inline]
    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Null => visitor.visit_unit(),
            Self::Bool(value) => visitor.visit_bool(value),
            Self::Int(value) => match u64::try_from(value) {
                Ok(value) => visitor.visit_u64(value),
                Err(_) => visitor.visit_i64(value),
            },
            Self::Unsigned(value) => visitor.visit_u64(value),
            Self::Float(value) => visitor.visit_f64(value),
            Self::Text(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
            Self::Text(Cow::Owned(text)) => visitor.visit_string(text),
            Self::TransientText(text) => visitor.visit_str(text),
            Self::Time(text) => visitor.visit_str(text.as_str()),
        }
    }
}

impl JsonView<'_, '_> {
    #[cold]
    fn type_mismatch<T>(&self, expected: &dyn serde::de::Expected) -> Result<T, Error> {
        let found = match self {
            Self::Scalar(scalar) => match scalar {
                Scalar::Null => Unexpected::Unit,
                Scalar::Bool(value) => Unexpected::Bool(*value),
                Scalar::Int(value) => Unexpected::Signed(*value),
                Scalar::Unsigned(value) => Unexpected::Unsigned(*value),
                Scalar::Float(value) => Unexpected::Float(*value),
                Scalar::Text(text) => Unexpected::Str(text),
                Scalar::TransientText(text) => Unexpected::Str(text),
                Scalar::Time(text) => Unexpected::Str(text.as_str()),
            },
            Self::Members(_) => Unexpected::Map,
            Self::Elements(_) => Unexpected::Seq,
            Self::Json(_) => Unexpected::Other("JSON"),
        };
        Err(Error::invalid_type(found, expected))
    }
}

fn parse(text: &[u8]) -> Result<Json, Error> {
    serde_json::from_slice(text).map_err(|error| Error::not_json(&error))
}

macro_rules! as_scalar {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.visit_scalar(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for &Value<'de, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if let Some(scalar) = self.scalar()? {
            return scalar.visit(visitor);
        }
        match self.json_view()? {
            JsonView::Members(mut members) => visitor.visit_map(&mut members),
            JsonView::Elements(mut elements) => visitor.visit_seq(&mut elements),
            JsonView::Json(text) if self.mask.is_empty() => {
                let mut json = serde_json::Deserializer::from_slice(text);
                let value = json
                    .deserialize_any(visitor)
                    .map_err(|error| Error::not_json(&error))?;
                json.end().map_err(|error| Error::not_json(&error))?;
                Ok(value)
            }
            JsonView::Json(text) => {
                let json = parse(text)?;
                self.with_json(&json).deserialize_any(visitor)
            }
            JsonView::Scalar(scalar) => scalar.visit(visitor),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_null()? {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.visit_compound(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit_compound(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit_compound(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.visit_compound(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.visit_compound(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.json_view()? {
            JsonView::Members(mut members) => visitor.visit_enum(MapAccessDeserializer::new(&mut members)),
            JsonView::Scalar(Scalar::Text(text)) => {
                StrDeserializer::new(&text).deserialize_enum(name, variants, visitor)
            }
            JsonView::Scalar(Scalar::TransientText(text)) => {
                StrDeserializer::new(text).deserialize_enum(name, variants, visitor)
            }
            JsonView::Json(text) => {
                let json = parse(text)?;
                self.with_json(&json).deserialize_enum(name, variants, visitor)
            }
            json_view => json_view.type_mismatch(&visitor),
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if let (ValueSource::Single(Content::Bytes(bytes)), ValueKind::String) = (self.source, self.kind)
            && let Some(text) = self.context.texts.valid(bytes)
        {
            return visitor.visit_borrowed_str(text);
        }
        self.visit_scalar(visitor)
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    /// Does not read the value.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match (self.source, self.kind) {
            (ValueSource::Single(Content::Varint(value)), ValueKind::Bool) => visitor.visit_bool(value != 0),
            _ => self.visit_scalar(visitor),
        }
    }

    #[inline]
    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match (self.source, self.kind) {
            (ValueSource::Single(Content::Varint(value)), ValueKind::Int32) => {
                visitor.visit_i32(low_32_bits(value))
            }
            _ => self.visit_scalar(visitor),
        }
    }

    #[inline]
    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match (self.source, self.kind) {
            (ValueSource::Single(Content::Varint(value)), ValueKind::Int64) => {
                visitor.visit_i64(value.cast_signed())
            }
            _ => self.visit_scalar(visitor),
        }
    }

    as_scalar! {
        deserialize_i8 deserialize_i16 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
        deserialize_char deserialize_identifier deserialize_unit
    }

    serde::forward_to_deserialize_any! { bytes byte_buf unit_struct }
}
