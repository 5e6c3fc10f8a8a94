//! A wrapper around serde_json's deserializer that skips masked fields.
//!
//! Wraps each serde access until nothing below the value is masked. From there on serde_json works alone.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IgnoredAny, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};

use super::duplicate_check::{DuplicateCheck, DuplicateField};
use super::key_seed::KeySeed;
use crate::field_mask::SubMask;
use crate::key_deserializer::KeyDeserializer;

/// A serde deserializer, visitor, seed or access, with the mask for its value.
pub(super) struct MaskFilter<'s, T> {
    inner: T,
    mask: SubMask<'s>,
    duplicates: DuplicateCheck,
}

impl<'s, T> MaskFilter<'s, T> {
    pub(super) fn new(inner: T, mask: SubMask<'s>, duplicates: DuplicateCheck) -> MaskFilter<'s, T> {
        MaskFilter {
            inner,
            mask,
            duplicates,
        }
    }

    /// Returns whether the value needs no filter.
    fn is_empty(&self) -> bool {
        self.mask.is_empty() && self.duplicates.is_disabled()
    }
}

/// Scalars have no fields, so their visitors are passed unchanged.
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
            let visitor = MaskFilter::new(visitor, self.mask, self.duplicates);
            self.inner.$method($($arg,)* visitor)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for MaskFilter<'_, D> {
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

impl<'de, V: Visitor<'de>> Visitor<'de> for MaskFilter<'_, V> {
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
            .visit_some(MaskFilter::new(deserializer, self.mask, self.duplicates))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner
            .visit_newtype_struct(MaskFilter::new(deserializer, self.mask, self.duplicates))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        if self.mask.is_empty() {
            return self.inner.visit_seq(elements);
        }
        self.inner
            .visit_seq(MaskFilter::new(elements, self.mask, DuplicateCheck::NONE))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        if self.is_empty() {
            return self.inner.visit_map(entries);
        }
        self.inner.visit_map(MapFilter {
            inner: entries,
            mask: self.mask,
            duplicates: self.duplicates,
            value: (SubMask::EMPTY, DuplicateCheck::NONE),
        })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variants: A) -> Result<V::Value, A::Error> {
        self.inner
            .visit_enum(MaskFilter::new(variants, self.mask, DuplicateCheck::NONE))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for MaskFilter<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        if self.is_empty() {
            return self.inner.deserialize(deserializer);
        }
        self.inner
            .deserialize(MaskFilter::new(deserializer, self.mask, self.duplicates))
    }
}

/// Lists add no segment to a path.
impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for MaskFilter<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.inner
            .next_element_seed(MaskFilter::new(seed, self.mask, DuplicateCheck::NONE))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// Filters the fields of an object, or the entries of a map.
struct MapFilter<'s, A> {
    inner: A,
    mask: SubMask<'s>,
    duplicates: DuplicateCheck,
    /// For the value of the last key.
    value: (SubMask<'s>, DuplicateCheck),
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for MapFilter<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        while let Some(key) = self.inner.next_key_seed(KeySeed)? {
            let Some(mask) = self.mask.field(&key) else {
                self.inner.next_value::<IgnoredAny>()?;
                continue;
            };
            if let Err(DuplicateField(name)) = self.duplicates.record(|known| known == key) {
                return Err(A::Error::duplicate_field(name));
            }
            self.value = (mask, self.duplicates.for_field(&key));
            return seed.deserialize(KeyDeserializer::new(key)).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let (mask, duplicates) = std::mem::replace(&mut self.value, (SubMask::EMPTY, DuplicateCheck::NONE));
        self.inner
            .next_value_seed(MaskFilter::new(seed, mask, duplicates))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// `{"variant": value}`, where the variant is a path segment, or `"variant"`.
impl<'de, 's, A: EnumAccess<'de>> EnumAccess<'de> for MaskFilter<'s, A> {
    type Error = A::Error;
    type Variant = VariantFilter<'s, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let (name, inner) = self.inner.variant_seed(KeySeed)?;
        let mask = self.mask.field(&name);
        let value = seed.deserialize(KeyDeserializer::new(name))?;
        Ok((value, VariantFilter { inner, mask }))
    }
}

pub(super) struct VariantFilter<'s, A> {
    inner: A,
    /// `None` if the variant is masked and has no value.
    mask: Option<SubMask<'s>>,
}

impl<'s, A> VariantFilter<'s, A> {
    fn split<'de>(self) -> Result<(A, SubMask<'s>), A::Error>
    where
        A: VariantAccess<'de>,
    {
        let masked = || A::Error::custom("the value of the variant is masked");
        Ok((self.inner, self.mask.ok_or_else(masked)?))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for VariantFilter<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let (inner, mask) = self.split()?;
        inner.newtype_variant_seed(MaskFilter::new(seed, mask, DuplicateCheck::NONE))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let (inner, mask) = self.split()?;
        inner.tuple_variant(len, MaskFilter::new(visitor, mask, DuplicateCheck::NONE))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let (inner, mask) = self.split()?;
        inner.struct_variant(fields, MaskFilter::new(visitor, mask, DuplicateCheck::NONE))
    }
}
