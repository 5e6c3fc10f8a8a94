//! A value of any kind, as serde asks for it.
//!
//! A type says what it expects, and mostly that is what comes: those ways are short. Whatever else comes is shown as JSON
//! would have it, and the type decides.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize as _;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error as _, Unexpected, Visitor};
use serde_json::Value as Json;

use super::super::forms::{
    Double, IntOrText, double, int_or_string, low_half, moment, only_field, quantity, time_of, time_text,
};
use super::super::read::{Content, Run};
use super::super::{Envelope, Error, MAGIC, time};
use super::Reading;
use super::elements::{Elements, Source};
use super::entries::Entries;
use super::gathered::{Found, pieces};
use super::members::Members;
use super::message::Message;
use crate::field_mask::Within;
use crate::table::{Container, Kind, MessageId, Shape};

/// A value, or all values of a list or map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'de, 'x> {
    pub(super) reading: &'x Reading<'de>,
    pub(super) held: Held<'de, 'x>,
    /// What one value is.
    pub(super) kind: Kind,
    pub(super) within: Within<'x>,
    /// How many messages it is in, less one.
    pub(super) depth: usize,
}

/// What there is of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Held<'de, 'x> {
    Null,
    /// Nothing, which is a zero value.
    Absent,
    One(Content<'de>),
    /// A time: seconds and microseconds.
    Moment(i64, i32),
    List(Repeated<'de, 'x>),
    Map(Repeated<'de, 'x>),
    /// A message in pieces.
    Pieces(&'x [Found<'de>]),
    /// The object itself.
    Object(&'x Object<'de>),
    /// Of the object's type.
    Text(&'de str),
    /// Of embedded JSON.
    Json(&'x Json),
}

/// An object and its type, which is not in its message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object<'de> {
    pub(super) api_version: &'de str,
    pub(super) kind: &'de str,
    pub(super) message: &'de [u8],
}

/// The occurrences of a field that is a list or a map.
#[derive(Clone, Copy, Debug)]
pub(super) enum Repeated<'de, 'x> {
    Run(Run<'de>),
    Many(&'x [Found<'de>]),
}

/// A value as JSON has it.
#[derive(Debug)]
enum Form<'de, 'x> {
    Plain(Plain<'de, 'x>),
    Members(Members<'de, 'x>),
    Elements(Elements<'de, 'x>),
    /// Embedded text.
    Json(&'de [u8]),
}

/// A value that is not made of others. By itself it is small.
#[derive(Debug)]
enum Plain<'de, 'x> {
    Null,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    Text(Cow<'de, str>),
    ShortLived(&'x str),
    Time(time::Text),
}

impl<'de, 'x> Value<'de, 'x> {
    fn form(&self) -> Result<Form<'de, 'x>, Error> {
        if let Some(plain) = self.plain()? {
            return Ok(Form::Plain(plain));
        }
        match (self.held, self.kind) {
            (Held::List(Repeated::Run(run)), _) => Ok(Form::Elements(self.elements(Source::Run(run)))),
            (Held::List(Repeated::Many(found)), _) => {
                Ok(Form::Elements(self.elements(Source::many(found.into()))))
            }
            (Held::Map(Repeated::Run(run)), _) => Ok(Form::Members(Members::map(self, Entries::run(run)))),
            (Held::Map(Repeated::Many(found)), _) => {
                Ok(Form::Members(Members::map(self, Entries::many(found, self)?)))
            }
            (Held::Object(object), Kind::Message(id)) => self.object(*object, id, self.depth),
            (Held::Absent, Kind::Message(id)) => self.message(id, b"", self.depth + 1),
            (Held::One(content), Kind::Message(id)) => self.message(id, content.bytes()?, self.depth + 1),
            (Held::Pieces(found), Kind::Message(id)) => self.pieces(id, found, self.depth + 1),
            (Held::One(content), _) => self.embedded(content),
            (Held::Json(Json::Array(values)), _) => {
                Ok(Form::Elements(self.elements(Source::Json(values.iter()))))
            }
            (Held::Json(Json::Object(members)), _) => {
                Ok(Form::Members(Members::json(self.reading, self.within, members)))
            }
            _ => Ok(Form::Plain(Plain::Null)),
        }
    }

    /// A value that is not made of others; none if it is or may be.
    fn plain(&self) -> Result<Option<Plain<'de, 'x>>, Error> {
        Ok(Some(match self.held {
            Held::One(content) => match self.kind {
                Kind::String => Plain::Text(self.reading.texts.text(content.bytes()?)),
                Kind::Bool => Plain::Bool(content.varint()? != 0),
                Kind::Int32 => Plain::Int(low_half(content.varint()?).into()),
                Kind::Int64 => Plain::Int(content.varint()?.cast_signed()),
                Kind::Double => match double(content.double()?)? {
                    Double::Whole(value) => Plain::Int(value),
                    Double::Other(value) => Plain::Float(value),
                },
                Kind::Bytes => Plain::Text(Cow::Owned(STANDARD.encode(content.bytes()?))),
                Kind::Time | Kind::MicroTime => {
                    match time_of(content.bytes()?, self.kind == Kind::MicroTime)? {
                        Some(text) => Plain::Time(text),
                        None => Plain::Null,
                    }
                }
                Kind::Quantity => Plain::Text(quantity(content.bytes()?)?),
                Kind::IntOrString => match int_or_string(content.bytes()?)? {
                    IntOrText::Int(value) => Plain::Int(value.into()),
                    IntOrText::Text(text) => Plain::Text(text),
                },
                Kind::Json | Kind::Message(_) => return Ok(None),
            },
            Held::Moment(seconds, micros) => {
                Plain::Time(time_text(seconds, micros, self.kind == Kind::MicroTime)?)
            }
            Held::Null => Plain::Null,
            // What JSON has where the wire has nothing.
            Held::Absent => match self.kind {
                Kind::String | Kind::Bytes => Plain::Text(Cow::Borrowed("")),
                Kind::Bool => Plain::Bool(false),
                Kind::Int32 | Kind::Int64 | Kind::Double | Kind::IntOrString => Plain::Int(0),
                Kind::Quantity => Plain::Text(Cow::Borrowed("0")),
                Kind::Time | Kind::MicroTime | Kind::Json => Plain::Null,
                Kind::Message(_) => return Ok(None),
            },
            Held::Text(text) => Plain::Text(Cow::Borrowed(text)),
            Held::Json(json) => match json {
                Json::Null => Plain::Null,
                Json::Bool(value) => Plain::Bool(*value),
                Json::Number(number) => match (number.as_u64(), number.as_i64()) {
                    (Some(value), _) => Plain::Unsigned(value),
                    (None, Some(value)) => Plain::Int(value),
                    (None, None) => Plain::Float(number.as_f64().unwrap_or_default()),
                },
                Json::String(text) => Plain::ShortLived(text),
                Json::Array(_) | Json::Object(_) => return Ok(None),
            },
            Held::List(_) | Held::Map(_) | Held::Pieces(_) | Held::Object(_) => return Ok(None),
        }))
    }

    /// The text of any JSON, or an object in an envelope.
    fn embedded(&self, content: Content<'de>) -> Result<Form<'de, 'x>, Error> {
        match only_field(content.bytes()?)? {
            None | Some(b"") => Ok(Form::Plain(Plain::Null)),
            Some(raw) if raw.starts_with(MAGIC) => {
                let envelope = Envelope::parse(raw)?;
                let (api_version, kind) = (envelope.api_version, envelope.kind);
                let id = self.reading.table.kind(api_version, kind);
                let id = id.ok_or_else(|| Error::unknown_kind(api_version, kind))?;
                let object = Object {
                    api_version,
                    kind,
                    message: envelope.raw,
                };
                self.object(object, id, self.depth + 1)
            }
            Some(raw) => Ok(Form::Json(raw)),
        }
    }

    fn object(&self, object: Object<'de>, id: MessageId, depth: usize) -> Result<Form<'de, 'x>, Error> {
        let message = self.one_piece(id, object.message, depth)?;
        let kept = |name, text| self.within.field(name).map(|_| (name, text));
        let head = [kept("apiVersion", object.api_version), kept("kind", object.kind)];
        Ok(Form::Members(Members::object(head, message)))
    }

    fn message(&self, id: MessageId, message: &'de [u8], depth: usize) -> Result<Form<'de, 'x>, Error> {
        self.shaped(id, self.one_piece(id, message, depth)?)
    }

    fn one_piece(&self, id: MessageId, message: &'de [u8], depth: usize) -> Result<Message<'de, 'x>, Error> {
        if self.reading.careful {
            let piece = std::iter::once(Ok(message));
            return Message::gathered(self.reading, id, piece, self.within, depth);
        }
        Ok(Message::of(self.reading, id, message, self.within, depth))
    }

    fn pieces(&self, id: MessageId, found: &[Found<'de>], depth: usize) -> Result<Form<'de, 'x>, Error> {
        let message = Message::gathered(self.reading, id, pieces(found), self.within, depth)?;
        self.shaped(id, message)
    }

    fn shaped(&self, id: MessageId, message: Message<'de, 'x>) -> Result<Form<'de, 'x>, Error> {
        match id.shape {
            Shape::Object => Ok(Form::Members(Members::message(message))),
            shape => self.alternative(message, shape),
        }
    }

    /// A message that stands for one of several things.
    fn alternative(&self, mut message: Message<'de, 'x>, shape: Shape) -> Result<Form<'de, 'x>, Error> {
        // What is in it is not a step further.
        let within = message.keep_all();
        let mut allows = false;
        let mut schema = None;
        let mut elements = None;
        while let Some(field) = message.advance()? {
            let inner = Value {
                kind: field.kind,
                within,
                depth: message.depth(),
                ..*self
            };
            if field.container == Container::List {
                if let Some(Held::List(Repeated::Run(run))) = message.value_in_order().map(|list| list.held) {
                    // More of it may come after something else, and whatever comes has to be right.
                    elements = Some(inner.elements(Source::Run(run)));
                    continue;
                }
                return match message.into_elements() {
                    Some(source) => Ok(Form::Elements(inner.elements(source))),
                    None => Ok(Form::Plain(Plain::Null)),
                };
            }
            match (inner.kind, message.value().held) {
                (Kind::Bool, Held::One(content)) => allows = content.varint()? != 0,
                (Kind::Message(id), Held::One(content)) => {
                    schema = Some(inner.message(id, content.bytes()?, inner.depth + 1)?);
                }
                (Kind::Message(id), Held::Pieces(found)) => {
                    schema = Some(inner.pieces(id, found, inner.depth + 1)?);
                }
                _ => {}
            }
        }
        if let Some(elements) = elements {
            return Ok(Form::Elements(elements));
        }
        Ok(match (schema, shape) {
            (Some(schema), _) => schema,
            (None, Shape::List) => Form::Elements(self.elements(Source::none())),
            (None, Shape::SchemaOrBool) => Form::Plain(Plain::Bool(allows)),
            (None, _) => Form::Plain(Plain::Null),
        })
    }

    fn elements(&self, source: Source<'de, 'x>) -> Elements<'de, 'x> {
        Elements {
            source,
            element: *self,
            index: 0,
        }
    }

    #[inline]
    fn is_null(&self) -> Result<bool, Error> {
        match (self.held, self.kind) {
            (
                Held::One(_),
                Kind::String | Kind::Bool | Kind::Int32 | Kind::Int64 | Kind::Quantity | Kind::IntOrString,
            )
            | (Held::List(_) | Held::Map(_) | Held::Moment(..), _) => Ok(false),
            (Held::One(_), Kind::Message(id)) if id.shape == Shape::Object => Ok(false),
            _ => self.may_be_null(),
        }
    }

    fn may_be_null(&self) -> Result<bool, Error> {
        Ok(match (self.held, self.kind) {
            (Held::Null | Held::Json(Json::Null), _)
            | (Held::Absent, Kind::Time | Kind::MicroTime | Kind::Json) => true,
            (Held::One(content), Kind::Time | Kind::MicroTime) => {
                moment(content.bytes()?, self.kind == Kind::MicroTime)?.is_none()
            }
            (Held::One(content), Kind::Json) => {
                let text = only_field(content.bytes()?)?.unwrap_or_default().trim_ascii();
                text.is_empty() || text == b"null"
            }
            (Held::Absent | Held::One(_) | Held::Pieces(_), Kind::Message(id)) => {
                id.shape == Shape::SchemaOrList && matches!(self.form()?, Form::Plain(Plain::Null))
            }
            _ => false,
        })
    }

    /// Whether it can be read: for what does not count, but has to be right.
    pub(super) fn check(&self) -> Result<(), Error> {
        Json::deserialize(self).map(drop)
    }

    /// Shows a value that is not made of others.
    fn scalar<V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Error> {
        if let Some(plain) = self.plain()? {
            return plain.show(visitor);
        }
        match self.form()? {
            Form::Json(text) => {
                let json = parse(text)?;
                self.with(&json).scalar(visitor)
            }
            Form::Plain(plain) => plain.show(visitor),
            form => form.refused(&visitor),
        }
    }

    /// Shows a value that is made of others.
    fn compound<V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Error> {
        match (self.held, self.kind) {
            (Held::One(Content::Bytes(bytes)), Kind::Message(id))
                if !self.reading.careful && id.shape == Shape::Object =>
            {
                return visitor.visit_map(&mut Members::message(Message::of(
                    self.reading,
                    id,
                    bytes,
                    self.within,
                    self.depth + 1,
                )));
            }
            (Held::List(Repeated::Run(run)), _) => {
                return visitor.visit_seq(&mut self.elements(Source::Run(run)));
            }
            (Held::Map(Repeated::Run(run)), _) => {
                return visitor.visit_map(&mut Members::map(self, Entries::run(run)));
            }
            _ => {}
        }
        match self.form()? {
            Form::Members(mut members) => visitor.visit_map(&mut members),
            Form::Elements(mut elements) => visitor.visit_seq(&mut elements),
            Form::Json(text) => {
                let json = parse(text)?;
                self.with(&json).compound(visitor)
            }
            form @ Form::Plain(_) => form.refused(&visitor),
        }
    }

    /// The same place, with what has been parsed of its text.
    fn with<'y>(&self, json: &'y Json) -> Value<'de, 'y>
    where
        'x: 'y,
    {
        Value {
            held: Held::Json(json),
            ..*self
        }
    }
}

impl<'de> Plain<'de, '_> {
    #[inline]
    fn show<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
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
            Self::ShortLived(text) => visitor.visit_str(text),
            Self::Time(text) => visitor.visit_str(text.as_str()),
        }
    }
}

impl Form<'_, '_> {
    #[cold]
    fn refused<T>(&self, expected: &dyn serde::de::Expected) -> Result<T, Error> {
        let found = match self {
            Self::Plain(plain) => match plain {
                Plain::Null => Unexpected::Unit,
                Plain::Bool(value) => Unexpected::Bool(*value),
                Plain::Int(value) => Unexpected::Signed(*value),
                Plain::Unsigned(value) => Unexpected::Unsigned(*value),
                Plain::Float(value) => Unexpected::Float(*value),
                Plain::Text(text) => Unexpected::Str(text),
                Plain::ShortLived(text) => Unexpected::Str(text),
                Plain::Time(text) => Unexpected::Str(text.as_str()),
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
            self.scalar(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for &Value<'de, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if let Some(plain) = self.plain()? {
            return plain.show(visitor);
        }
        match self.form()? {
            Form::Members(mut members) => visitor.visit_map(&mut members),
            Form::Elements(mut elements) => visitor.visit_seq(&mut elements),
            Form::Json(text) if self.within.is_kept() => {
                let mut json = serde_json::Deserializer::from_slice(text);
                let value = json
                    .deserialize_any(visitor)
                    .map_err(|error| Error::not_json(&error))?;
                json.end().map_err(|error| Error::not_json(&error))?;
                Ok(value)
            }
            Form::Json(text) => {
                let json = parse(text)?;
                self.with(&json).deserialize_any(visitor)
            }
            Form::Plain(plain) => plain.show(visitor),
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
        self.compound(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.compound(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.compound(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.compound(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.compound(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.form()? {
            Form::Members(mut members) => visitor.visit_enum(MapAccessDeserializer::new(&mut members)),
            Form::Plain(Plain::Text(text)) => {
                StrDeserializer::new(&text).deserialize_enum(name, variants, visitor)
            }
            Form::Plain(Plain::ShortLived(text)) => {
                StrDeserializer::new(text).deserialize_enum(name, variants, visitor)
            }
            Form::Json(text) => {
                let json = parse(text)?;
                self.with(&json).deserialize_enum(name, variants, visitor)
            }
            form => form.refused(&visitor),
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if let (Held::One(Content::Bytes(bytes)), Kind::String) = (self.held, self.kind)
            && let Some(text) = self.reading.texts.valid(bytes)
        {
            return visitor.visit_borrowed_str(text);
        }
        self.scalar(visitor)
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    /// Nothing is looked into.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match (self.held, self.kind) {
            (Held::One(Content::Varint(value)), Kind::Bool) => visitor.visit_bool(value != 0),
            _ => self.scalar(visitor),
        }
    }

    #[inline]
    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match (self.held, self.kind) {
            (Held::One(Content::Varint(value)), Kind::Int32) => visitor.visit_i32(low_half(value)),
            _ => self.scalar(visitor),
        }
    }

    #[inline]
    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match (self.held, self.kind) {
            (Held::One(Content::Varint(value)), Kind::Int64) => visitor.visit_i64(value.cast_signed()),
            _ => self.scalar(visitor),
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
