//! A deserializer for field names and map keys.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::value::{BorrowedStrDeserializer, StringDeserializer};
use serde::de::{Deserializer, Error, Visitor};
use serde::forward_to_deserialize_any;

/// Deserializes a key. As in serde_json, map keys are strings that may contain a number or a boolean.
pub(crate) struct KeyDeserializer<'de, E> {
    text: Cow<'de, str>,
    error: PhantomData<E>,
}

impl<'de, E: Error> KeyDeserializer<'de, E> {
    #[inline]
    pub(crate) fn new(text: Cow<'de, str>) -> KeyDeserializer<'de, E> {
        KeyDeserializer {
            text,
            error: PhantomData,
        }
    }

    /// Returns the key if it is a JSON number.
    fn number(&self) -> Result<&'de str, E> {
        match self.text {
            Cow::Borrowed(text)
                if text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
                    && text.ends_with(|last: char| last.is_ascii_digit()) =>
            {
                Ok(text)
            }
            _ => Err(E::custom("invalid value: expected key to be a number in quotes")),
        }
    }
}

macro_rules! numbers {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
            let mut json = serde_json::Deserializer::from_str(self.number()?);
            let read = json.$method(visitor).and_then(|value| json.end().map(|()| value));
            read.map_err(E::custom)
        })*
    };
}

impl<'de, E: Error> Deserializer<'de> for KeyDeserializer<'de, E> {
    type Error = E;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.text {
            Cow::Borrowed(text) => BorrowedStrDeserializer::new(text).deserialize_any(visitor),
            Cow::Owned(text) => StringDeserializer::new(text).deserialize_any(visitor),
        }
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match &*self.text {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, E> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, E> {
        match self.text {
            Cow::Borrowed(text) => {
                BorrowedStrDeserializer::new(text).deserialize_enum(name, variants, visitor)
            }
            Cow::Owned(text) => StringDeserializer::new(text).deserialize_enum(name, variants, visitor),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.text {
            Cow::Borrowed(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
            Cow::Owned(text) => visitor.visit_bytes(text.as_bytes()),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        self.deserialize_bytes(visitor)
    }

    forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
