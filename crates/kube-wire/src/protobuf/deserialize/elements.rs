//! The values of a list.

use std::borrow::Cow;
use std::slice;

use serde::de::{DeserializeSeed, SeqAccess};
use serde_json::Value as Json;

use super::super::Error;
use super::super::field_reader::{Content, FieldReader, FieldRun};
use super::buffered_fields::Occurrence;
use super::value::{Value, ValueSource};
use crate::table::ValueKind;

/// Deserializes the values of a list.
#[derive(Debug)]
pub(super) struct Elements<'de, 'x> {
    pub(super) source: ElementSource<'de, 'x>,
    /// Type and content of the current value.
    pub(super) element: Value<'de, 'x>,
    /// Number of values read.
    pub(super) index: usize,
}

/// The encoded values of a list.
#[derive(Debug)]
pub(super) enum ElementSource<'de, 'x> {
    Run(FieldRun<'de>),
    Buffered {
        found: Cow<'x, [Occurrence<'de>]>,
        at: usize,
        /// The unread numbers of a packed occurrence.
        packed: FieldReader<'de>,
    },
    Json(slice::Iter<'x, Json>),
}

impl<'de, 'x> ElementSource<'de, 'x> {
    pub(super) fn buffered(found: Cow<'x, [Occurrence<'de>]>) -> Self {
        Self::Buffered {
            found,
            at: 0,
            packed: FieldReader::of(b""),
        }
    }

    pub(super) fn empty() -> Self {
        Self::buffered(Cow::Borrowed(&[]))
    }

    #[inline]
    fn next(&mut self, kind: ValueKind) -> Result<Option<ValueSource<'de, 'x>>, Error> {
        match self {
            Self::Run(run) => {
                run.count = run.count.saturating_sub(1);
                Ok(run
                    .fields
                    .next()?
                    .map(|(_, content)| ValueSource::Single(content)))
            }
            Self::Json(values) => Ok(values.next().map(ValueSource::Json)),
            Self::Buffered { found, at, packed } => loop {
                if let Some(number) = packed.next_packed()? {
                    return Ok(Some(ValueSource::Single(Content::Varint(number))));
                }
                let Some((_, content)) = found.get(*at) else {
                    return Ok(None);
                };
                *at += 1;
                match (kind, content) {
                    (ValueKind::Bool | ValueKind::Int32 | ValueKind::Int64, Content::Bytes(numbers)) => {
                        *packed = FieldReader::of(numbers);
                    }
                    _ => return Ok(Some(ValueSource::Single(*content))),
                }
            },
        }
    }

    fn left(&self) -> usize {
        match self {
            Self::Run(run) => run.count,
            Self::Buffered { found, at, .. } => found.len() - at,
            Self::Json(values) => values.len(),
        }
    }
}

impl<'de> SeqAccess<'de> for Elements<'de, '_> {
    type Error = Error;

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "hot path with one call site per list, and results may be large"
    )]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(source) = self.source.next(self.element.kind)? else {
            return Ok(None);
        };
        self.element.source = source;
        if !self.element.context.buffered {
            // Results may be large, so they are returned without mapping the error. The buffered pass adds the index
            // to errors.
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
