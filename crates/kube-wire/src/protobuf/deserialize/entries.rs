//! The entries of a map.

use std::borrow::Cow;

use super::super::Error;
use super::super::read::{Content, Fields, Run};
use super::Reading;
use super::gathered::{Found, pieces};
use super::value::{Held, Value};
use crate::field_mask::Within;

/// A map that is being read.
#[derive(Debug)]
pub(super) struct Entries<'de> {
    source: Source<'de>,
}

#[derive(Debug)]
enum Source<'de> {
    Run {
        run: Run<'de>,
        /// Go writes keys in order; if they are not, one may come twice.
        before: Option<&'de [u8]>,
    },
    Sorted(std::vec::IntoIter<Entry<'de>>),
}

/// An entry. Either half of it may be missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'de> {
    pub(super) key: &'de [u8],
    pub(super) content: Option<Content<'de>>,
}

impl<'de> Entry<'de> {
    pub(super) const EMPTY: Entry<'static> = Entry {
        key: b"",
        content: None,
    };

    pub(super) fn of(message: &'de [u8]) -> Result<Self, Error> {
        let mut entry = Self::EMPTY;
        let mut fields = Fields::of(message);
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

impl<'de> Entries<'de> {
    pub(super) fn run(run: Run<'de>) -> Self {
        Self {
            source: Source::Run { run, before: None },
        }
    }

    /// The last entry of each key. `like` is what their values are.
    pub(super) fn many(found: &[Found<'de>], like: &Value<'de, '_>) -> Result<Self, Error> {
        let entries: Result<Vec<_>, _> = pieces(found).map(|piece| Entry::of(piece?)).collect();
        let mut entries = entries?;
        entries.sort_by_key(|entry| entry.key);
        for pair in entries.windows(2) {
            if let [
                Entry {
                    key,
                    content: Some(content),
                },
                after,
            ] = *pair
                && key == after.key
            {
                let superseded = Value {
                    held: Held::One(content),
                    ..*like
                };
                superseded.check()?;
            }
        }
        // Of equal ones the first is kept, so the last has to be there.
        entries.reverse();
        entries.dedup_by_key(|entry| entry.key);
        entries.reverse();
        Ok(Self {
            source: Source::Sorted(entries.into_iter()),
        })
    }

    /// The next entry that is not left out.
    pub(super) fn next<'x>(
        &mut self,
        reading: &Reading<'de>,
        within: Within<'x>,
    ) -> Result<Option<(Cow<'de, str>, Entry<'de>, Within<'x>)>, Error> {
        while let Some(entry) = self.next_of_all(reading)? {
            let key = reading.texts.text(entry.key);
            if let Some(within) = within.field(&key) {
                return Ok(Some((key, entry, within)));
            }
        }
        Ok(None)
    }

    fn next_of_all(&mut self, reading: &Reading<'de>) -> Result<Option<Entry<'de>>, Error> {
        match &mut self.source {
            Source::Sorted(entries) => Ok(entries.next()),
            Source::Run { run, before } => {
                let Some((_, content)) = run.fields.next()? else {
                    return Ok(None);
                };
                run.count = run.count.saturating_sub(1);
                let entry = Entry::of(content.bytes()?)?;
                if before.is_some_and(|before| before >= entry.key) {
                    return Err(reading.scattered());
                }
                *before = Some(entry.key);
                Ok(Some(entry))
            }
        }
    }

    pub(super) fn left(&self) -> usize {
        match &self.source {
            Source::Run { run, .. } => run.count,
            Source::Sorted(entries) => entries.len(),
        }
    }
}
