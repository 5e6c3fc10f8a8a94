//! Fields of a message in arbitrary order.

use std::ops::Range;

use super::super::Error;
use super::super::convert::check_wire_type;
use super::super::field_reader::{Content, FieldReader};
use crate::table::FieldDescriptor;

/// One occurrence of a field: its position in the table and its content.
pub(super) type Occurrence<'de> = (usize, Content<'de>);

/// All occurrences of all fields, grouped by field, in the order of the message.
#[derive(Debug)]
pub(super) struct BufferedFields<'de> {
    pub(super) found: Vec<Occurrence<'de>>,
    next: usize,
}

impl<'de> BufferedFields<'de> {
    /// Collects the fields of a message with several parts.
    pub(super) fn of(
        fields: &[FieldDescriptor],
        pieces: impl Iterator<Item = Result<&'de [u8], Error>>,
    ) -> Result<Self, Error> {
        let mut found = Vec::new();
        for piece in pieces {
            let mut reader = FieldReader::of(piece?);
            while let Some((number, content)) = reader.next()? {
                let known = fields.binary_search_by(|field| u64::from(field.number).cmp(&number));
                if let Ok(position) = known {
                    let field = &fields[position];
                    check_wire_type(field, content).map_err(|error| error.in_field(field.name))?;
                    found.push((position, content));
                }
            }
        }
        found.sort_by_key(|(position, _)| *position);
        Ok(Self { found, next: 0 })
    }

    /// Returns the fields of an absent message.
    pub(super) fn empty() -> Self {
        Self {
            found: Vec::new(),
            next: 0,
        }
    }

    /// Returns the position of the next field and the range of its occurrences.
    pub(super) fn next(&mut self) -> Option<(usize, Range<usize>)> {
        let rest = self.found.get(self.next..)?;
        let (position, _) = *rest.first()?;
        let count = rest.iter().take_while(|(other, _)| *other == position).count();
        let start = self.next;
        self.next += count;
        Some((position, start..self.next))
    }
}

/// Returns the parts of a message.
pub(super) fn pieces<'de>(found: &[Occurrence<'de>]) -> impl Iterator<Item = Result<&'de [u8], Error>> {
    found.iter().map(|(_, content)| content.bytes())
}
