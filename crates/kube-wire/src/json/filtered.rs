//! serde_json's deserializer without the fields that are left out.
//!
//! Each of serde's ways into a value is wrapped, down to where everything is kept: from there on serde_json is alone.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IgnoredAny, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};

use super::key::KeyText;
use super::once::{Once, Twice};
use crate::field_mask::Within;
use crate::key::Key;

/// Something of serde's, at a place where something may be left out.
pub(super) struct Filtered<'s, T> {
    inner: T,
    within: Within<'s>,
    once: Once,
}

impl<'s, T> Filtered<'s, T> {
    pub(super) fn new(inner: T, within: Within<'s>, once: Once) -> Filtered<'s, T> {
        Filtered { inner, within, once }
    }

    /// Whether serde_json can go on alone.
    fn is_kept(&self) -> bool {
        self.within.is_kept() && self.once.is_any()
    }
}

/// Scalars have no fields, so their visitors are handed over as they are.
macro_rules! scalars {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method(visitor)
        })*
    };
}

macro_rules! wrapped {
    ($($method:ident($($arg:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($arg: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            let visitor = Filtered::new(visitor, self.within, self.once);
            self.inner.$method($($arg,)* visitor)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Filtered<'_, D> {
    type Error = D::Error;

    scalars! {
        deserialize_bool
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_identifier
        deserialize_unit deserialize_ignored_any
    }

    wrapped! {
        deserialize_any()
        deserialize_bytes()
        deserialize_byte_buf()
        deserialize_option()
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_seq()
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_map()
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! values {
    ($($method:ident($type:ty))*) => {
        $(fn $method<E: serde::de::Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Filtered<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    values! {
        visit_bool(bool)
        visit_i64(i64) visit_i128(i128)
        visit_u64(u64) visit_u128(u128)
        visit_f64(f64)
        visit_str(&str) visit_borrowed_str(&'de str) visit_string(String)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner
            .visit_some(Filtered::new(deserializer, self.within, self.once))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner
            .visit_newtype_struct(Filtered::new(deserializer, self.within, self.once))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        if self.within.is_kept() {
            return self.inner.visit_seq(elements);
        }
        self.inner
            .visit_seq(Filtered::new(elements, self.within, Once::ANY))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        if self.is_kept() {
            return self.inner.visit_map(entries);
        }
        self.inner.visit_map(Entries {
            inner: entries,
            within: self.within,
            once: self.once,
            value: (Within::KEPT, Once::ANY),
        })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variants: A) -> Result<V::Value, A::Error> {
        self.inner
            .visit_enum(Filtered::new(variants, self.within, Once::ANY))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Filtered<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        if self.is_kept() {
            return self.inner.deserialize(deserializer);
        }
        self.inner
            .deserialize(Filtered::new(deserializer, self.within, self.once))
    }
}

/// Lists take no step of their own.
impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Filtered<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.inner
            .next_element_seed(Filtered::new(seed, self.within, Once::ANY))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// The fields of an object, or the entries of a map.
struct Entries<'s, A> {
    inner: A,
    within: Within<'s>,
    once: Once,
    /// For the value of the entry whose key was read last.
    value: (Within<'s>, Once),
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        while let Some(key) = self.inner.next_key_seed(KeyText)? {
            let Some(within) = self.within.field(&key) else {
                self.inner.next_value::<IgnoredAny>()?;
                continue;
            };
            if let Err(Twice(name)) = self.once.see(|known| known == key) {
                return Err(A::Error::duplicate_field(name));
            }
            self.value = (within, self.once.of_field(&key));
            return seed.deserialize(Key::new(key)).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let (within, once) = std::mem::replace(&mut self.value, (Within::KEPT, Once::ANY));
        self.inner.next_value_seed(Filtered::new(seed, within, once))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// `{"variant": value}`, where the variant's name is a step like a field's, or `"variant"`.
impl<'de, 's, A: EnumAccess<'de>> EnumAccess<'de> for Filtered<'s, A> {
    type Error = A::Error;
    type Variant = Variant<'s, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let (name, inner) = self.inner.variant_seed(KeyText)?;
        let within = self.within.field(&name);
        let value = seed.deserialize(Key::new(name))?;
        Ok((value, Variant { inner, within }))
    }
}

pub(super) struct Variant<'s, A> {
    inner: A,
    /// None if it is left out, which then is an enum without its value.
    within: Option<Within<'s>>,
}

impl<'s, A> Variant<'s, A> {
    fn split<'de>(self) -> Result<(A, Within<'s>), A::Error>
    where
        A: VariantAccess<'de>,
    {
        let left_out = || A::Error::custom("the variant's value is left out");
        Ok((self.inner, self.within.ok_or_else(left_out)?))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Variant<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let (inner, within) = self.split()?;
        inner.newtype_variant_seed(Filtered::new(seed, within, Once::ANY))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let (inner, within) = self.split()?;
        inner.tuple_variant(len, Filtered::new(visitor, within, Once::ANY))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let (inner, within) = self.split()?;
        inner.struct_variant(fields, Filtered::new(visitor, within, Once::ANY))
    }
}
