//! The fields of a message whose order means nothing.

use std::ops::Range;

use super::super::Error;
use super::super::forms::check;
use super::super::read::{Content, Fields};
use crate::table::Field;

/// One occurrence of a field: its position in the table, and what it holds.
pub(super) type Found<'de> = (usize, Content<'de>);

/// All occurrences of all fields, those of one field together, in the order of the wire.
#[derive(Debug)]
pub(super) struct Gathered<'de> {
    pub(super) found: Vec<Found<'de>>,
    next: usize,
}

impl<'de> Gathered<'de> {
    /// Gathers the fields of a message that came in pieces.
    pub(super) fn of(
        fields: &[Field],
        pieces: impl Iterator<Item = Result<&'de [u8], Error>>,
    ) -> Result<Self, Error> {
        let mut found = Vec::new();
        for piece in pieces {
            let mut reader = Fields::of(piece?);
            while let Some((number, content)) = reader.next()? {
                let known = fields.binary_search_by(|field| u64::from(field.number).cmp(&number));
                if let Ok(position) = known {
                    let field = &fields[position];
                    check(field, content).map_err(|error| error.in_field(field.name))?;
                    found.push((position, content));
                }
            }
        }
        found.sort_by_key(|(position, _)| *position);
        Ok(Self { found, next: 0 })
    }

    /// Of a message that is not there.
    pub(super) fn nothing() -> Self {
        Self {
            found: Vec::new(),
            next: 0,
        }
    }

    /// The next field: its position, and where its occurrences are.
    pub(super) fn next(&mut self) -> Option<(usize, Range<usize>)> {
        let rest = self.found.get(self.next..)?;
        let (position, _) = *rest.first()?;
        let count = rest.iter().take_while(|(other, _)| *other == position).count();
        let start = self.next;
        self.next += count;
        Some((position, start..self.next))
    }
}

/// The pieces of a message.
pub(super) fn pieces<'de>(found: &[Found<'de>]) -> impl Iterator<Item = Result<&'de [u8], Error>> {
    found.iter().map(|(_, content)| content.bytes())
}
