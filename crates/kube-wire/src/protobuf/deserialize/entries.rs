//! The entries of a map.

use std::borrow::Cow;

use super::super::Error;
use super::super::field_reader::{Content, FieldReader, FieldRun};
use super::DecodeContext;
use super::buffered_fields::{Occurrence, pieces};
use super::value::{Value, ValueSource};
use crate::field_mask::SubMask;

/// Iterates over the entries of a map.
#[derive(Debug)]
pub(super) struct MapEntries<'de> {
    source: EntrySource<'de>,
}

#[derive(Debug)]
enum EntrySource<'de> {
    Run {
        run: FieldRun<'de>,
        /// The previous key. Go sorts keys; unsorted keys may contain duplicates.
        before: Option<&'de [u8]>,
    },
    Sorted(std::vec::IntoIter<MapEntry<'de>>),
}

/// An entry. Key and value may be missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapEntry<'de> {
    pub(super) key: &'de [u8],
    pub(super) content: Option<Content<'de>>,
}

impl<'de> MapEntry<'de> {
    pub(super) const EMPTY: MapEntry<'static> = MapEntry {
        key: b"",
        content: None,
    };

    pub(super) fn of(message: &'de [u8]) -> Result<Self, Error> {
        let mut entry = Self::EMPTY;
        let mut fields = FieldReader::of(message);
        while let Some((number, content)) = fields.next()? {
            match number {
                1 => entry.key = content.bytes()?,
                2 => entry.content = Some(content),
                _ => {}
            }
        }
        Ok(entry)
    }
}

impl<'de> MapEntries<'de> {
    pub(super) fn run(run: FieldRun<'de>) -> Self {
        Self {
            source: EntrySource::Run { run, before: None },
        }
    }

    /// Returns the last entry of each key. `like` has the type of the values.
    pub(super) fn buffered(found: &[Occurrence<'de>], like: &Value<'de, '_>) -> Result<Self, Error> {
        let entries: Result<Vec<_>, _> = pieces(found).map(|piece| MapEntry::of(piece?)).collect();
        let mut entries = entries?;
        entries.sort_by_key(|entry| entry.key);
        for pair in entries.windows(2) {
            if let [
                MapEntry {
                    key,
                    content: Some(content),
                },
                after,
            ] = *pair
                && key == after.key
            {
                let superseded = Value {
                    source: ValueSource::Single(content),
                    ..*like
                };
                superseded.check()?;
            }
        }
        // `dedup` keeps the first of equal keys, and the last entry counts.
        entries.reverse();
        entries.dedup_by_key(|entry| entry.key);
        entries.reverse();
        Ok(Self {
            source: EntrySource::Sorted(entries.into_iter()),
        })
    }

    /// Returns the next entry that is not masked.
    pub(super) fn next<'x>(
        &mut self,
        context: &DecodeContext<'de>,
        mask: SubMask<'x>,
    ) -> Result<Option<(Cow<'de, str>, MapEntry<'de>, SubMask<'x>)>, Error> {
        while let Some(entry) = self.next_of_all(context)? {
            let key = context.texts.text(entry.key);
            if let Some(mask) = mask.field(&key) {
                return Ok(Some((key, entry, mask)));
            }
        }
        Ok(None)
    }

    fn next_of_all(&mut self, context: &DecodeContext<'de>) -> Result<Option<MapEntry<'de>>, Error> {
        match &mut self.source {
            EntrySource::Sorted(entries) => Ok(entries.next()),
            EntrySource::Run { run, before } => {
                let Some((_, content)) = run.fields.next()? else {
                    return Ok(None);
                };
                run.count = run.count.saturating_sub(1);
                let entry = MapEntry::of(content.bytes()?)?;
                if before.is_some_and(|before| before >= entry.key) {
                    return Err(context.non_contiguous());
                }
                *before = Some(entry.key);
                Ok(Some(entry))
            }
        }
    }

    pub(super) fn left(&self) -> usize {
        match &self.source {
            EntrySource::Run { run, .. } => run.count,
            EntrySource::Sorted(entries) => entries.len(),
        }
    }
}
