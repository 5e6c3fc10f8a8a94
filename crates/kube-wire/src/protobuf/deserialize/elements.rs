//! The values of a list.

use std::borrow::Cow;
use std::slice;

use serde::de::{DeserializeSeed, SeqAccess};
use serde_json::Value as Json;

use super::super::Error;
use super::super::read::{Content, Fields, Run};
use super::gathered::Found;
use super::value::{Held, Value};
use crate::table::Kind;

/// A list that is being read.
#[derive(Debug)]
pub(super) struct Elements<'de, 'x> {
    pub(super) source: Source<'de, 'x>,
    /// What each of them is, and what the last one holds.
    pub(super) element: Value<'de, 'x>,
    /// How many have been read.
    pub(super) index: usize,
}

/// Where the values come from.
#[derive(Debug)]
pub(super) enum Source<'de, 'x> {
    Run(Run<'de>),
    Many {
        found: Cow<'x, [Found<'de>]>,
        at: usize,
        /// Numbers that are left of those that were packed together.
        packed: Fields<'de>,
    },
    Json(slice::Iter<'x, Json>),
}

impl<'de, 'x> Source<'de, 'x> {
    pub(super) fn many(found: Cow<'x, [Found<'de>]>) -> Self {
        Self::Many {
            found,
            at: 0,
            packed: Fields::of(b""),
        }
    }

    pub(super) fn none() -> Self {
        Self::many(Cow::Borrowed(&[]))
    }

    #[inline]
    fn next(&mut self, kind: Kind) -> Result<Option<Held<'de, 'x>>, Error> {
        match self {
            Self::Run(run) => {
                run.count = run.count.saturating_sub(1);
                Ok(run.fields.next()?.map(|(_, content)| Held::One(content)))
            }
            Self::Json(values) => Ok(values.next().map(Held::Json)),
            Self::Many { found, at, packed } => loop {
                if let Some(number) = packed.next_packed()? {
                    return Ok(Some(Held::One(Content::Varint(number))));
                }
                let Some((_, content)) = found.get(*at) else {
                    return Ok(None);
                };
                *at += 1;
                match (kind, content) {
                    (Kind::Bool | Kind::Int32 | Kind::Int64, Content::Bytes(numbers)) => {
                        *packed = Fields::of(numbers);
                    }
                    _ => return Ok(Some(Held::One(*content))),
                }
            },
        }
    }

    fn left(&self) -> usize {
        match self {
            Self::Run(run) => run.count,
            Self::Many { found, at, .. } => found.len() - at,
            Self::Json(values) => values.len(),
        }
    }
}

impl<'de> SeqAccess<'de> for Elements<'de, '_> {
    type Error = Error;

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a list calls it once, and a call would copy what may be large"
    )]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(held) = self.source.next(self.element.kind)? else {
            return Ok(None);
        };
        self.element.held = held;
        if !self.element.reading.careful {
            // The result may be large and is left where it is: whatever is wrong will be found again, carefully.
            return seed.deserialize(&self.element).map(Some);
        }
        let index = self.index;
        self.index += 1;
        match seed.deserialize(&self.element) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(error.at_index(index)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.source.left())
    }
}
