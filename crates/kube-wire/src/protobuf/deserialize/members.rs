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
use super::key::Key;
use super::message::{Message, Next};
use super::value::{Held, Value};
use crate::skip::Within;
use crate::table::Kind;

/// An object that is being read.
#[derive(Debug)]
pub(super) struct Members<'de, 'x> {
    source: Source<'de, 'x>,
    /// The value of the key that was read last.
    pending: Pending<'de, 'x>,
}

#[derive(Debug)]
enum Source<'de, 'x> {
    Message {
        /// apiVersion and kind, which are in no message.
        head: [Option<&'de str>; 2],
        message: Message<'de, 'x>,
    },
    Map {
        reading: &'x Reading,
        kind: Kind,
        within: Within<'x>,
        depth: usize,
        entries: Entries<'de>,
    },
    Json {
        reading: &'x Reading,
        within: Within<'x>,
        members: serde_json::map::Iter<'x>,
    },
}

#[derive(Debug)]
enum Pending<'de, 'x> {
    Nothing,
    Head(&'static str, &'de str),
    Field(Next<'de, 'x>),
    Entry(Entry<'de>, Within<'x>),
    Json(&'x str, &'x Json, Within<'x>),
}

impl<'de, 'x> Members<'de, 'x> {
    #[inline]
    pub(super) fn message(message: Message<'de, 'x>) -> Self {
        Self::object([None, None], message)
    }

    /// A message, after its apiVersion and kind.
    #[inline]
    pub(super) fn object(head: [Option<&'de str>; 2], message: Message<'de, 'x>) -> Self {
        Self::of(Source::Message { head, message })
    }

    /// A map whose values are as `like`.
    pub(super) fn map(like: &Value<'de, 'x>, entries: Entries<'de>) -> Self {
        Self::of(Source::Map {
            reading: like.reading,
            kind: like.kind,
            within: like.within,
            depth: like.depth,
            entries,
        })
    }

    pub(super) fn json(reading: &'x Reading, within: Within<'x>, object: &'x Map<String, Json>) -> Self {
        Self::of(Source::Json {
            reading,
            within,
            members: object.iter(),
        })
    }

    #[inline]
    fn of(source: Source<'de, 'x>) -> Self {
        Self {
            source,
            pending: Pending::Nothing,
        }
    }

    fn advance(&mut self) -> Result<Option<Cow<'de, str>>, Error> {
        let (name, pending) = match &mut self.source {
            Source::Message { head, message } => {
                if let Some(api_version) = head[0].take() {
                    (
                        Cow::Borrowed("apiVersion"),
                        Pending::Head("apiVersion", api_version),
                    )
                } else if let Some(kind) = head[1].take() {
                    (Cow::Borrowed("kind"), Pending::Head("kind", kind))
                } else {
                    match message.advance()? {
                        Some(next) => (Cow::Borrowed(next.field.name), Pending::Field(next)),
                        None => return Ok(None),
                    }
                }
            }
            Source::Map {
                reading,
                within,
                entries,
                ..
            } => match entries.next(reading, *within)? {
                Some((key, entry, within)) => (key, Pending::Entry(entry, within)),
                None => return Ok(None),
            },
            Source::Json { within, members, .. } => {
                let kept = |(key, value): (&'x String, &'x Json)| {
                    within.field(key).map(|within| (key, value, within))
                };
                match members.find_map(kept) {
                    Some((key, value, within)) => {
                        (Cow::Owned(key.clone()), Pending::Json(key, value, within))
                    }
                    None => return Ok(None),
                }
            }
        };
        self.pending = pending;
        Ok(Some(name))
    }

    /// What the key that was read last stands for.
    fn value<'v>(&'v self) -> Result<Value<'de, 'v>, Error> {
        let entry = |content| match content {
            Some(content) => Held::One(content),
            None => Held::Absent,
        };
        Ok(match (&self.pending, &self.source) {
            (Pending::Field(next), Source::Message { message, .. }) => message.value(next),
            (Pending::Head(_, text), Source::Message { message, .. }) => Value {
                reading: message.reading,
                held: Held::Text(text),
                kind: Kind::String,
                within: Within::KEPT,
                depth: message.depth,
            },
            (
                Pending::Entry(Entry { content, .. }, within),
                Source::Map {
                    reading, kind, depth, ..
                },
            ) => Value {
                reading,
                held: entry(*content),
                kind: *kind,
                within: *within,
                depth: *depth,
            },
            (Pending::Json(_, json, within), Source::Json { reading, .. }) => Value {
                reading,
                held: Held::Json(json),
                kind: Kind::Json,
                within: *within,
                depth: 0,
            },
            _ => return Err(Error::invalid("a value was asked for before its key")),
        })
    }

    /// Says in which member an error is.
    #[cold]
    fn located(&self, error: Error) -> Error {
        match &self.pending {
            Pending::Nothing => error,
            Pending::Head(name, _) => error.in_field(name),
            Pending::Field(next) => error.in_field(next.field.name),
            Pending::Entry(entry, _) => error.at_key(&string(entry.key)),
            Pending::Json(key, ..) => error.at_key(key),
        }
    }
}

impl<'de> MapAccess<'de> for Members<'de, '_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        match self.advance()? {
            Some(name) => seed.deserialize(Key(name)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.value()?)
            .map_err(|error| self.located(error))
    }

    fn size_hint(&self) -> Option<usize> {
        match &self.source {
            Source::Message { .. } => None,
            Source::Map { entries, .. } => Some(entries.left()),
            Source::Json { members, .. } => Some(members.len()),
        }
    }
}
