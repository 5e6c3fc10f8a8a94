//! What JSON has as an object: a message, a map, or an object in embedded JSON.
//!
//! They are one type, so that a type that is read has code for one kind of object only.

use std::borrow::Cow;

use serde::de::{DeserializeSeed, MapAccess};
use serde_json::{Map, Value as Json};

use super::super::Error;
use super::super::forms::string;
use super::Reading;
use super::entries::{Entries, Entry};
use super::message::Message;
use super::value::{Held, Value};
use crate::field_mask::Within;
use crate::key::Key;
use crate::table::Kind;

/// An object that is being read.
#[derive(Debug)]
pub(super) enum Members<'de, 'x> {
    Message {
        message: Message<'de, 'x>,
        /// Only of an object that has a type of its own.
        head: Option<Box<Head<'de>>>,
    },
    Map {
        reading: &'x Reading<'de>,
        kind: Kind,
        within: Within<'x>,
        depth: usize,
        entries: Entries<'de>,
        /// The entry whose key was read last.
        entry: Entry<'de>,
        entry_within: Within<'x>,
    },
    Json {
        reading: &'x Reading<'de>,
        within: Within<'x>,
        members: serde_json::map::Iter<'x>,
        /// What was read last.
        member: Option<(&'x str, &'x Json)>,
        member_within: Within<'x>,
    },
}

/// apiVersion and kind, which are in no message.
#[derive(Debug)]
pub(super) struct Head<'de> {
    left: [Option<(&'static str, &'de str)>; 2],
    /// What was read last, if it is of these.
    current: Option<(&'static str, &'de str)>,
}

impl<'de, 'x> Members<'de, 'x> {
    #[inline]
    pub(super) fn message(message: Message<'de, 'x>) -> Self {
        Self::Message { message, head: None }
    }

    /// A message, after its apiVersion and kind unless they are left out.
    pub(super) fn object(head: [Option<(&'static str, &'de str)>; 2], message: Message<'de, 'x>) -> Self {
        let head = Head {
            left: head,
            current: None,
        };
        Self::Message {
            message,
            head: Some(Box::new(head)),
        }
    }

    /// A map whose values are as `like`.
    pub(super) fn map(like: &Value<'de, 'x>, entries: Entries<'de>) -> Self {
        Self::Map {
            reading: like.reading,
            kind: like.kind,
            within: like.within,
            depth: like.depth,
            entries,
            entry: Entry::EMPTY,
            entry_within: Within::KEPT,
        }
    }

    pub(super) fn json(reading: &'x Reading<'de>, within: Within<'x>, object: &'x Map<String, Json>) -> Self {
        Self::Json {
            reading,
            within,
            members: object.iter(),
            member: None,
            member_within: Within::KEPT,
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
                reading,
                within,
                entries,
                entry,
                entry_within,
                ..
            } => Ok(entries.next(reading, *within)?.map(|(key, next, within)| {
                (*entry, *entry_within) = (next, within);
                key
            })),
            Self::Json {
                within,
                members,
                member,
                member_within,
                ..
            } => {
                let kept = |(key, value): (&'x String, &'x Json)| {
                    within.field(key).map(|within| (key, value, within))
                };
                Ok(members.find_map(kept).map(|(key, value, within)| {
                    (*member, *member_within) = (Some((key.as_str(), value)), within);
                    Cow::Owned(key.clone())
                }))
            }
        }
    }

    /// What the key that was read last stands for.
    fn value(&self) -> Value<'de, '_> {
        match self {
            Self::Message { message, head } => match head.as_ref().and_then(|head| head.current) {
                Some((_, text)) => Value {
                    reading: message.reading(),
                    held: Held::Text(text),
                    kind: Kind::String,
                    within: Within::KEPT,
                    depth: message.depth(),
                },
                None => message.value(),
            },
            Self::Map {
                reading,
                kind,
                depth,
                entry,
                entry_within,
                ..
            } => Value {
                reading,
                held: match entry.content {
                    Some(content) => Held::One(content),
                    None => Held::Absent,
                },
                kind: *kind,
                within: *entry_within,
                depth: *depth,
            },
            Self::Json {
                reading,
                member,
                member_within,
                ..
            } => Value {
                reading,
                held: match member {
                    Some((_, json)) => Held::Json(json),
                    None => Held::Null,
                },
                kind: Kind::Json,
                within: *member_within,
                depth: 0,
            },
        }
    }

    /// The next key of an object of any kind: apart, so that little is at every place where messages are read.
    #[inline(never)]
    fn next_key_of_any<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        match self.advance()? {
            Some(name) => seed.deserialize(Key::new(name)).map(Some),
            None => Ok(None),
        }
    }

    /// The value of an object of any kind.
    #[inline(never)]
    fn next_value_of_any<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let value = self.value();
        if !value.reading.careful {
            // The result may be large and is left where it is.
            return seed.deserialize(&value);
        }
        seed.deserialize(&value).map_err(|error| self.located(error))
    }

    /// Says in which member an error is.
    #[cold]
    fn located(&self, error: Error) -> Error {
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
    #[expect(clippy::inline_always, reason = "a type calls it once, and for every field")]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        // Mostly it is a message, and its fields' names need nothing else.
        let Self::Message { message, head: None } = self else {
            return self.next_key_of_any(seed);
        };
        match message.advance()? {
            Some(field) => seed.deserialize(Key::new(Cow::Borrowed(field.name))).map(Some),
            None => Ok(None),
        }
    }

    #[inline]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        // Also mostly that of a message. Whatever is wrong will be found again, carefully.
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
