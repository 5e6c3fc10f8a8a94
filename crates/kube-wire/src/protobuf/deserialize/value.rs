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
    Double, IntOrText, double, int_or_string, low_half, only_field, quantity, string, time_of,
};
use super::super::read::{Content, Run};
use super::super::{Envelope, Error, MAGIC, time};
use super::Reading;
use super::elements::{Elements, Source};
use super::entries::Entries;
use super::gathered::{Found, pieces};
use super::members::Members;
use super::message::Message;
use crate::skip::Within;
use crate::table::{Container, Kind, MessageId, Shape};

/// A value, or all values of a list or map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'de, 'x> {
    pub(super) reading: &'x Reading,
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
    List(Repeated<'de, 'x>),
    Map(Repeated<'de, 'x>),
    /// A message in pieces.
    Pieces(&'x [Found<'de>]),
    /// The object itself.
    Object {
        api_version: &'de str,
        kind: &'de str,
        message: &'de [u8],
    },
    /// Of the object's type.
    Text(&'de str),
    /// Of embedded JSON.
    Json(&'x Json),
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
    Null,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    Text(Cow<'de, str>),
    ShortLived(&'x str),
    Time(time::Text),
    Members(Members<'de, 'x>),
    Elements(Elements<'de, 'x>),
    /// Embedded text.
    Json(&'de [u8]),
}

impl<'de, 'x> Value<'de, 'x> {
    fn form(&self) -> Result<Form<'de, 'x>, Error> {
        match self.held {
            Held::Null => Ok(Form::Null),
            Held::Absent => self.zero(),
            Held::One(content) => self.one(content),
            Held::List(repeated) => Ok(Form::Elements(self.elements(match repeated {
                Repeated::Run(run) => Source::Run(run),
                Repeated::Many(found) => Source::many(found.into()),
            }))),
            Held::Map(repeated) => {
                let entries = match repeated {
                    Repeated::Run(run) => Entries::run(run),
                    Repeated::Many(found) => Entries::many(found, self)?,
                };
                Ok(Form::Members(Members::map(self, entries)))
            }
            Held::Pieces(found) => match self.kind {
                Kind::Message(id) => self.message(id, pieces(found), self.depth + 1),
                _ => Ok(Form::Null),
            },
            Held::Object {
                api_version,
                kind,
                message,
            } => match self.kind {
                Kind::Message(id) => self.object(api_version, kind, id, message, self.depth),
                _ => Ok(Form::Null),
            },
            Held::Text(text) => Ok(Form::Text(Cow::Borrowed(text))),
            Held::Json(json) => Ok(self.json(json)),
        }
    }

    /// What is on the wire.
    fn one(&self, content: Content<'de>) -> Result<Form<'de, 'x>, Error> {
        Ok(match self.kind {
            Kind::Message(id) => {
                return self.message(id, std::iter::once(content.bytes()), self.depth + 1);
            }
            Kind::String => Form::Text(string(content.bytes()?)),
            Kind::Bool => Form::Bool(content.varint()? != 0),
            Kind::Int32 => Form::Int(low_half(content.varint()?).into()),
            Kind::Int64 => Form::Int(content.varint()?.cast_signed()),
            Kind::Double => match double(content.double()?)? {
                Double::Whole(value) => Form::Int(value),
                Double::Other(value) => Form::Float(value),
            },
            Kind::Bytes => Form::Text(Cow::Owned(STANDARD.encode(content.bytes()?))),
            Kind::Time | Kind::MicroTime => match time_of(content.bytes()?, self.kind == Kind::MicroTime)? {
                Some(text) => Form::Time(text),
                None => Form::Null,
            },
            Kind::Quantity => Form::Text(quantity(content.bytes()?)?),
            Kind::IntOrString => match int_or_string(content.bytes()?)? {
                IntOrText::Int(value) => Form::Int(value.into()),
                IntOrText::Text(text) => Form::Text(text),
            },
            Kind::Json => match only_field(content.bytes()?)? {
                None | Some(b"") => Form::Null,
                Some(raw) if raw.starts_with(MAGIC) => {
                    let envelope = Envelope::parse(raw)?;
                    let (api_version, kind) = (envelope.api_version, envelope.kind);
                    let id = self.reading.table.kind(api_version, kind);
                    let id = id.ok_or_else(|| Error::unknown_kind(api_version, kind))?;
                    return self.object(api_version, kind, id, envelope.raw, self.depth + 1);
                }
                Some(raw) => Form::Json(raw),
            },
        })
    }

    /// What JSON has where the wire has nothing.
    fn zero(&self) -> Result<Form<'de, 'x>, Error> {
        Ok(match self.kind {
            Kind::Message(id) => return self.message(id, std::iter::once(Ok(&b""[..])), self.depth + 1),
            Kind::String | Kind::Bytes => Form::Text(Cow::Borrowed("")),
            Kind::Bool => Form::Bool(false),
            Kind::Int32 | Kind::Int64 | Kind::Double | Kind::IntOrString => Form::Int(0),
            Kind::Quantity => Form::Text(Cow::Borrowed("0")),
            Kind::Time | Kind::MicroTime | Kind::Json => Form::Null,
        })
    }

    fn object(
        &self,
        api_version: &'de str,
        kind: &'de str,
        id: MessageId,
        message: &'de [u8],
        depth: usize,
    ) -> Result<Form<'de, 'x>, Error> {
        let message = Message::of(self.reading, id, std::iter::once(Ok(message)), self.within, depth)?;
        let kept = |name, text| self.within.field(name).map(|_| text);
        let head = [kept("apiVersion", api_version), kept("kind", kind)];
        Ok(Form::Members(Members::object(head, message)))
    }

    fn message(
        &self,
        id: MessageId,
        pieces: impl Iterator<Item = Result<&'de [u8], Error>>,
        depth: usize,
    ) -> Result<Form<'de, 'x>, Error> {
        let message = Message::of(self.reading, id, pieces, self.within, depth)?;
        match self.reading.table.message(id).shape {
            Shape::Object => Ok(Form::Members(Members::message(message))),
            shape => self.alternative(message, shape),
        }
    }

    /// A message that stands for one of several things.
    fn alternative(&self, mut message: Message<'de, 'x>, shape: Shape) -> Result<Form<'de, 'x>, Error> {
        // What is in it is not a step further.
        let within = std::mem::replace(&mut message.within, Within::KEPT);
        let mut allows = false;
        let mut schema = None;
        while let Some(next) = message.advance()? {
            let inner = Value {
                kind: next.field.kind,
                within,
                depth: message.depth,
                ..*self
            };
            if next.field.container == Container::List {
                return match message.into_elements(next) {
                    Some(source) => Ok(Form::Elements(inner.elements(source))),
                    None => Ok(Form::Null),
                };
            }
            match (inner.kind, message.value(&next).held) {
                (Kind::Bool, Held::One(content)) => allows = content.varint()? != 0,
                (Kind::Message(id), Held::One(content)) => {
                    let pieces = std::iter::once(content.bytes());
                    schema = Some(inner.message(id, pieces, inner.depth + 1)?);
                }
                (Kind::Message(id), Held::Pieces(found)) => {
                    schema = Some(inner.message(id, pieces(found), inner.depth + 1)?);
                }
                _ => {}
            }
        }
        Ok(match (schema, shape) {
            (Some(schema), _) => schema,
            (None, Shape::List) => Form::Elements(self.elements(Source::none())),
            (None, Shape::SchemaOrBool) => Form::Bool(allows),
            (None, _) => Form::Null,
        })
    }

    fn elements(&self, source: Source<'de, 'x>) -> Elements<'de, 'x> {
        Elements {
            reading: self.reading,
            kind: self.kind,
            within: self.within,
            depth: self.depth,
            source,
            index: 0,
        }
    }

    fn json(&self, json: &'x Json) -> Form<'de, 'x> {
        match json {
            Json::Null => Form::Null,
            Json::Bool(value) => Form::Bool(*value),
            Json::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => Form::Unsigned(value),
                (None, Some(value)) => Form::Int(value),
                (None, None) => Form::Float(number.as_f64().unwrap_or_default()),
            },
            Json::String(text) => Form::ShortLived(text),
            Json::Array(values) => Form::Elements(self.elements(Source::Json(values.iter()))),
            Json::Object(members) => Form::Members(Members::json(self.reading, self.within, members)),
        }
    }

    fn is_null(&self) -> Result<bool, Error> {
        Ok(match (self.held, self.kind) {
            (Held::Null | Held::Json(Json::Null), _)
            | (Held::Absent, Kind::Time | Kind::MicroTime | Kind::Json) => true,
            (Held::One(content), Kind::Time | Kind::MicroTime) => {
                time_of(content.bytes()?, self.kind == Kind::MicroTime)?.is_none()
            }
            (Held::One(content), Kind::Json) => {
                let text = only_field(content.bytes()?)?.unwrap_or_default().trim_ascii();
                text.is_empty() || text == b"null"
            }
            (Held::Absent | Held::One(_) | Held::Pieces(_), Kind::Message(id)) => {
                self.reading.table.message(id).shape == Shape::SchemaOrList
                    && matches!(self.form()?, Form::Null)
            }
            _ => false,
        })
    }

    /// Whether it can be read: for what does not count, but has to be right.
    pub(super) fn check(self) -> Result<(), Error> {
        Json::deserialize(self).map(drop)
    }

    /// Shows a value that is not made of others.
    fn scalar<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.form()? {
            Form::Json(text) => {
                let json = parse(text)?;
                self.with(&json).scalar(visitor)
            }
            form => form.scalar(visitor),
        }
    }

    /// Shows a value that is made of others.
    fn compound<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.form()? {
            Form::Members(members) => visitor.visit_map(members),
            Form::Elements(elements) => visitor.visit_seq(elements),
            Form::Json(text) => {
                let json = parse(text)?;
                self.with(&json).compound(visitor)
            }
            form => form.refused(&visitor),
        }
    }

    /// The same place, with what has been parsed of its text.
    fn with<'y>(self, json: &'y Json) -> Value<'de, 'y>
    where
        'x: 'y,
    {
        Value {
            held: Held::Json(json),
            ..self
        }
    }
}

impl<'de> Form<'de, '_> {
    fn scalar<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
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
            Self::Members(_) | Self::Elements(_) | Self::Json(_) => self.refused(&visitor),
        }
    }

    #[cold]
    fn refused<T>(&self, expected: &dyn serde::de::Expected) -> Result<T, Error> {
        let found = match self {
            Self::Null => Unexpected::Unit,
            Self::Bool(value) => Unexpected::Bool(*value),
            Self::Int(value) => Unexpected::Signed(*value),
            Self::Unsigned(value) => Unexpected::Unsigned(*value),
            Self::Float(value) => Unexpected::Float(*value),
            Self::Text(text) => Unexpected::Str(text),
            Self::ShortLived(text) => Unexpected::Str(text),
            Self::Time(text) => Unexpected::Str(text.as_str()),
            Self::Members(_) => Unexpected::Map,
            Self::Elements(_) => Unexpected::Seq,
            Self::Json(_) => Unexpected::Other("JSON"),
        };
        Err(Error::invalid_type(found, expected))
    }
}

fn parse(text: &[u8]) -> Result<Json, Error> {
    serde_json::from_slice(text).map_err(|error| not_json(&error))
}

#[cold]
fn not_json(error: &serde_json::Error) -> Error {
    Error::invalid(format!("not JSON: {error}"))
}

macro_rules! as_scalar {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.scalar(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Value<'de, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.form()? {
            Form::Members(members) => visitor.visit_map(members),
            Form::Elements(elements) => visitor.visit_seq(elements),
            Form::Json(text) if self.within.is_kept() => {
                let mut json = serde_json::Deserializer::from_slice(text);
                let value = json.deserialize_any(visitor).map_err(|error| not_json(&error))?;
                json.end().map_err(|error| not_json(&error))?;
                Ok(value)
            }
            Form::Json(text) => {
                let json = parse(text)?;
                self.with(&json).deserialize_any(visitor)
            }
            form => form.scalar(visitor),
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
            Form::Members(members) => visitor.visit_enum(MapAccessDeserializer::new(members)),
            Form::Text(text) => StrDeserializer::new(&text).deserialize_enum(name, variants, visitor),
            Form::ShortLived(text) => StrDeserializer::new(text).deserialize_enum(name, variants, visitor),
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
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return visitor.visit_borrowed_str(text);
        }
        self.scalar(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    /// Nothing is looked into.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    as_scalar! {
        deserialize_bool
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
        deserialize_char deserialize_identifier deserialize_unit
    }

    serde::forward_to_deserialize_any! { bytes byte_buf unit_struct }
}
