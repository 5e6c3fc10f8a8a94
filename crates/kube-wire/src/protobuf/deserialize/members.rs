//! Values that are objects in JSON: messages, maps and objects in embedded JSON.
//!
//! A single type for all of them keeps the generated code of deserialized types small.

use std::borrow::Cow;

use serde::de::{DeserializeSeed, MapAccess};
use serde_json::{Map, Value as Json};

use super::super::Error;
use super::super::convert::string;
use super::DecodeContext;
use super::entries::{MapEntries, MapEntry};
use super::message::MessageReader;
use super::value::{Value, ValueSource};
use crate::field_mask::SubMask;
use crate::key_deserializer::KeyDeserializer;
use crate::table::ValueKind;

/// Deserializes the members of an object.
#[derive(Debug)]
pub(super) enum Members<'de, 'x> {
    Message {
        message: MessageReader<'de, 'x>,
        /// Only for objects with apiVersion and kind.
        head: Option<Box<TypeFields<'de>>>,
    },
    Map {
        context: &'x DecodeContext<'de>,
        kind: ValueKind,
        mask: SubMask<'x>,
        depth: usize,
        entries: MapEntries<'de>,
        /// The current entry.
        entry: MapEntry<'de>,
        entry_mask: SubMask<'x>,
    },
    Json {
        context: &'x DecodeContext<'de>,
        mask: SubMask<'x>,
        members: serde_json::map::Iter<'x>,
        /// The current member.
        member: Option<(&'x str, &'x Json)>,
        member_mask: SubMask<'x>,
    },
}

/// apiVersion and kind, which messages do not contain.
#[derive(Debug)]
pub(super) struct TypeFields<'de> {
    left: [Option<(&'static str, &'de str)>; 2],
    /// The current member, if it is one of these.
    current: Option<(&'static str, &'de str)>,
}

impl<'de, 'x> Members<'de, 'x> {
    #[inline]
    pub(super) fn message(message: MessageReader<'de, 'x>) -> Self {
        Self::Message { message, head: None }
    }

    /// Creates the members of a message with apiVersion and kind, unless they are masked.
    pub(super) fn object(
        head: [Option<(&'static str, &'de str)>; 2],
        message: MessageReader<'de, 'x>,
    ) -> Self {
        let head = TypeFields {
            left: head,
            current: None,
        };
        Self::Message {
            message,
            head: Some(Box::new(head)),
        }
    }

    /// Creates the members of a map whose values have the type of `like`.
    pub(super) fn map(like: &Value<'de, 'x>, entries: MapEntries<'de>) -> Self {
        Self::Map {
            context: like.context,
            kind: like.kind,
            mask: like.mask,
            depth: like.depth,
            entries,
            entry: MapEntry::EMPTY,
            entry_mask: SubMask::EMPTY,
        }
    }

    pub(super) fn json(
        context: &'x DecodeContext<'de>,
        mask: SubMask<'x>,
        object: &'x Map<String, Json>,
    ) -> Self {
        Self::Json {
            context,
            mask,
            members: object.iter(),
            member: None,
            member_mask: SubMask::EMPTY,
        }
    }

    fn advance(&mut self) -> Result<Option<Cow<'de, str>>, Error> {
        match self {
            Self::Message { message, head } => {
                if let Some(head) = head {
                    head.current = head.left[0].take().or_else(|| head.left[1].take());
                    if let Some((name, _)) = head.current {
                        return Ok(Some(Cow::Borrowed(name)));
                    }
                }
                Ok(message.advance()?.map(|field| Cow::Borrowed(field.name)))
            }
            Self::Map {
                context,
                mask,
                entries,
                entry,
                entry_mask,
                ..
            } => Ok(entries.next(context, *mask)?.map(|(key, next, mask)| {
                (*entry, *entry_mask) = (next, mask);
                key
            })),
            Self::Json {
                mask,
                members,
                member,
                member_mask,
                ..
            } => {
                let visible =
                    |(key, value): (&'x String, &'x Json)| mask.field(key).map(|mask| (key, value, mask));
                Ok(members.find_map(visible).map(|(key, value, mask)| {
                    (*member, *member_mask) = (Some((key.as_str(), value)), mask);
                    Cow::Owned(key.clone())
                }))
            }
        }
    }

    /// Returns the value of the current key.
    fn value(&self) -> Value<'de, '_> {
        match self {
            Self::Message { message, head } => match head.as_ref().and_then(|head| head.current) {
                Some((_, text)) => Value {
                    context: message.context(),
                    source: ValueSource::Text(text),
                    kind: ValueKind::String,
                    mask: SubMask::EMPTY,
                    depth: message.depth(),
                },
                None => message.value(),
            },
            Self::Map {
                context,
                kind,
                depth,
                entry,
                entry_mask,
                ..
            } => Value {
                context,
                source: match entry.content {
                    Some(content) => ValueSource::Single(content),
                    None => ValueSource::Absent,
                },
                kind: *kind,
                mask: *entry_mask,
                depth: *depth,
            },
            Self::Json {
                context,
                member,
                member_mask,
                ..
            } => Value {
                context,
                source: match member {
                    Some((_, json)) => ValueSource::Json(json),
                    None => ValueSource::Null,
                },
                kind: ValueKind::Json,
                mask: *member_mask,
                depth: 0,
            },
        }
    }

    /// Reads the next key of any object. Not inlined, to keep the code of deserialized types small.
    #[inline(never)]
    fn next_key_of_any<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        match self.advance()? {
            Some(name) => seed.deserialize(KeyDeserializer::new(name)).map(Some),
            None => Ok(None),
        }
    }

    /// Reads the next value of any object.
    #[inline(never)]
    fn next_value_of_any<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let value = self.value();
        if !value.context.buffered {
            // Results may be large, so they are returned without mapping the error.
            return seed.deserialize(&value);
        }
        seed.deserialize(&value).map_err(|error| self.locate_error(error))
    }

    /// Adds the current member to the path of an error.
    #[cold]
    fn locate_error(&self, error: Error) -> Error {
        match self {
            Self::Message { message, head } => {
                let of_head = head.as_ref().and_then(|head| head.current).map(|(name, _)| name);
                match of_head.or(message.field().map(|field| field.name)) {
                    Some(name) => error.in_field(name),
                    None => error,
                }
            }
            Self::Map { entry, .. } => error.at_key(&string(entry.key)),
            Self::Json { member, .. } => match member {
                Some((key, _)) => error.at_key(key),
                None => error,
            },
        }
    }
}

impl<'de> MapAccess<'de> for Members<'de, '_> {
    type Error = Error;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot path with one call site per type")]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        // Fast path for messages, the most frequent objects.
        let Self::Message { message, head: None } = self else {
            return self.next_key_of_any(seed);
        };
        match message.advance()? {
            Some(field) => seed
                .deserialize(KeyDeserializer::new(Cow::Borrowed(field.name)))
                .map(Some),
            None => Ok(None),
        }
    }

    #[inline]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        // Fast path for messages. The buffered pass adds the path to errors.
        if let Self::Message { message, head: None } = self
            && let Some(value) = message.value_in_order()
        {
            return seed.deserialize(value);
        }
        self.next_value_of_any(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        match self {
            Self::Message { .. } => None,
            Self::Map { entries, .. } => Some(entries.left()),
            Self::Json { members, .. } => Some(members.len()),
        }
    }
}
