//! The fields of a message, as JSON would have them.

use std::ops::Range;

use super::super::error::Reason;
use super::super::forms::{low_half, only_field, time_of};
use super::super::read::{Content, Fields, Run};
use super::super::{Error, MAX_DEPTH};
use super::Reading;
use super::elements::Source;
use super::gathered::{Found, Gathered, pieces};
use super::value::{Held, Repeated, Value};
use crate::skip::Within;
use crate::table::{Container, Field, Kind, MessageId, Omitted, Shape, Table};

/// A message that is being read.
#[derive(Debug)]
pub(super) struct Message<'de, 'x> {
    pub(super) reading: &'x Reading,
    pub(super) within: Within<'x>,
    pub(super) depth: usize,
    frame: Frame<'de>,
    /// The messages around it whose fields are fields of the same JSON object.
    outer: Vec<Frame<'de>>,
}

/// A message whose fields are shown, by itself.
#[derive(Debug)]
struct Frame<'de> {
    fields: &'static [Field],
    /// Bits of the fields that are shown also if they are not there.
    always_printed: u64,
    /// Bits of the fields that were there.
    seen: u64,
    /// The position of the field that came last: mostly the next one comes next.
    at: usize,
    wire: Wire<'de>,
}

#[derive(Debug)]
enum Wire<'de> {
    InOrder(Fields<'de>),
    Gathered(Gathered<'de>),
}

/// A field that JSON has.
#[derive(Debug)]
pub(super) struct Next<'de, 'x> {
    pub(super) field: &'static Field,
    within: Within<'x>,
    holds: Holds<'de>,
}

#[derive(Debug)]
enum Holds<'de> {
    /// Nothing, and Go has a nil for it.
    Null,
    /// Nothing, and Go has a zero value for it.
    Absent,
    One(Content<'de>),
    Run(Run<'de>),
    Gathered(Range<usize>),
}

impl<'de, 'x> Message<'de, 'x> {
    /// A message that is not in another.
    pub(super) fn open(
        reading: &'x Reading,
        id: MessageId,
        message: &'de [u8],
        within: Within<'x>,
    ) -> Result<Self, Error> {
        Self::of(reading, id, std::iter::once(Ok(message)), within, 0)
    }

    /// A message, of which there may be several pieces only if the reading is careful.
    pub(super) fn of(
        reading: &'x Reading,
        id: MessageId,
        pieces: impl Iterator<Item = Result<&'de [u8], Error>>,
        within: Within<'x>,
        depth: usize,
    ) -> Result<Self, Error> {
        Ok(Self {
            reading,
            within,
            depth,
            frame: Frame::of(reading, id, pieces, depth)?,
            outer: Vec::new(),
        })
    }

    /// The next field that JSON has.
    pub(super) fn advance(&mut self) -> Result<Option<Next<'de, 'x>>, Error> {
        loop {
            let next = match &mut self.frame.wire {
                Wire::InOrder(_) => self.next_in_order()?,
                Wire::Gathered(_) => self.next_gathered()?,
            };
            if next.is_some() {
                return Ok(next);
            }
            if let Some(next) = self.next_absent()? {
                return Ok(Some(next));
            }
            match self.outer.pop() {
                Some(outer) => self.frame = outer,
                None => return Ok(None),
            }
        }
    }

    /// What a field holds.
    pub(super) fn value<'v>(&'v self, next: &Next<'de, 'x>) -> Value<'de, 'v> {
        let field = next.field;
        let repeated = |repeated| match field.container {
            Container::Map => Held::Map(repeated),
            _ => Held::List(repeated),
        };
        let held = match (&next.holds, &self.frame.wire) {
            (Holds::Null, _) => Held::Null,
            (Holds::One(content), _) => Held::One(*content),
            (Holds::Run(run), _) => repeated(Repeated::Run(*run)),
            (Holds::Gathered(range), Wire::Gathered(gathered)) => {
                let found = &gathered.found[range.clone()];
                match field.container {
                    Container::One => Held::Pieces(found),
                    _ => repeated(Repeated::Many(found)),
                }
            }
            (Holds::Absent | Holds::Gathered(_), _) => Held::Absent,
        };
        Value {
            reading: self.reading,
            held,
            kind: field.kind,
            within: next.within,
            depth: self.depth + self.outer.len(),
        }
    }

    /// Takes the occurrences of a gathered list with it, for those who outlive the message.
    pub(super) fn into_elements(self, next: Next<'de, 'x>) -> Option<Source<'de, 'x>> {
        match (next.holds, self.frame.wire) {
            (Holds::Run(run), _) => Some(Source::Run(run)),
            (Holds::Gathered(range), Wire::Gathered(mut gathered)) => {
                gathered.found.truncate(range.end);
                gathered.found.drain(..range.start);
                Some(Source::many(gathered.found.into()))
            }
            _ => None,
        }
    }

    fn next_in_order(&mut self) -> Result<Option<Next<'de, 'x>>, Error> {
        loop {
            let Wire::InOrder(wire) = &mut self.frame.wire else {
                return Ok(None);
            };
            let before = *wire;
            let Some((number, content)) = wire.next()? else {
                return Ok(None);
            };
            // Fields that are not known are newer than the table.
            let Some(position) = find(self.frame.fields, self.frame.at, number) else {
                continue;
            };
            let field = &self.frame.fields[position];
            self.frame.at = position;
            let seen = self.frame.seen;
            self.frame.seen |= 1 << position;
            let Some(within) = within_field(self.within, field) else {
                continue;
            };
            if seen & 1 << position != 0 {
                return Err(self.reading.scattered());
            }
            let holds = match (field.container, field.kind, content) {
                (Container::One, Kind::Message(id), _) if field.inline => {
                    self.enter(id, std::iter::once(content.bytes()))?;
                    continue;
                }
                (Container::One, ..) => Holds::One(content),
                // Packed numbers, which Kubernetes does not write.
                (Container::List, Kind::Bool | Kind::Int32 | Kind::Int64, Content::Bytes(_)) => {
                    return Err(self.reading.scattered());
                }
                _ => Holds::Run(
                    wire.run_from(before)
                        .map_err(|error| error.in_field(field.name))?,
                ),
            };
            if let Holds::One(content) = holds
                && is_omitted(self.reading.table, field, &[(position, content)])?
            {
                continue;
            }
            return Ok(Some(Next { field, within, holds }));
        }
    }

    #[cold]
    fn next_gathered(&mut self) -> Result<Option<Next<'de, 'x>>, Error> {
        loop {
            let Wire::Gathered(gathered) = &mut self.frame.wire else {
                return Ok(None);
            };
            let Some((position, range)) = gathered.next() else {
                return Ok(None);
            };
            let field = &self.frame.fields[position];
            self.frame.seen |= 1 << position;
            let Some(within) = within_field(self.within, field) else {
                continue;
            };
            let found = &gathered.found[range.clone()];
            if let (true, Kind::Message(id)) = (field.inline, field.kind) {
                let inner: Vec<_> = pieces(found).collect();
                self.enter(id, inner.into_iter())?;
                continue;
            }
            let is_one = field.container == Container::One;
            if is_one && is_omitted(self.reading.table, field, found)? {
                continue;
            }
            let holds = match (field.kind, found) {
                (kind, [earlier @ .., (_, last)]) if is_one && !matches!(kind, Kind::Message(_)) => {
                    for (_, content) in earlier {
                        let value = Value {
                            reading: self.reading,
                            held: Held::One(*content),
                            kind,
                            within,
                            depth: self.depth + self.outer.len(),
                        };
                        value.check().map_err(|error| error.in_field(field.name))?;
                    }
                    Holds::One(*last)
                }
                _ => Holds::Gathered(range),
            };
            return Ok(Some(Next { field, within, holds }));
        }
    }

    /// The next field of which the wire has nothing, and yet JSON has something.
    fn next_absent(&mut self) -> Result<Option<Next<'de, 'x>>, Error> {
        loop {
            let absent = self.frame.always_printed & !self.frame.seen;
            if absent == 0 {
                return Ok(None);
            }
            let position = absent.trailing_zeros();
            self.frame.seen |= 1 << position;
            let Some(field) = self.frame.fields.get(position as usize) else {
                return Ok(None);
            };
            let Some(within) = within_field(self.within, field) else {
                continue;
            };
            if let (true, Kind::Message(id)) = (field.inline, field.kind) {
                self.enter(id, std::iter::once(Ok(&b""[..])))?;
                continue;
            }
            self.reading.spend()?;
            let holds = if self.reading.table.is_nil_when_absent(field) {
                Holds::Null
            } else {
                Holds::Absent
            };
            return Ok(Some(Next { field, within, holds }));
        }
    }

    /// Shows the fields of a message among those of this one.
    fn enter(
        &mut self,
        id: MessageId,
        pieces: impl Iterator<Item = Result<&'de [u8], Error>>,
    ) -> Result<(), Error> {
        let inner = Frame::of(self.reading, id, pieces, self.depth + self.outer.len() + 1)?;
        self.outer.push(std::mem::replace(&mut self.frame, inner));
        Ok(())
    }
}

impl<'de> Frame<'de> {
    fn of(
        reading: &Reading,
        id: MessageId,
        mut pieces: impl Iterator<Item = Result<&'de [u8], Error>>,
        depth: usize,
    ) -> Result<Self, Error> {
        if depth >= MAX_DEPTH {
            return Err(Reason::TooDeep.into());
        }
        let message = reading.table.message(id);
        let fields = reading.table.fields(message);
        let wire = if reading.careful {
            Wire::Gathered(Gathered::of(fields, pieces)?)
        } else {
            Wire::InOrder(Fields::of(pieces.next().transpose()?.unwrap_or_default()))
        };
        Ok(Self {
            fields,
            always_printed: message.always_printed,
            seen: 0,
            at: 0,
            wire,
        })
    }
}

/// The position of a field, looked for from the one before it on.
#[inline]
fn find(fields: &[Field], from: usize, number: u64) -> Option<usize> {
    for (position, field) in fields.iter().enumerate().skip(from) {
        let found = u64::from(field.number);
        if found >= number {
            if found == number {
                return Some(position);
            }
            break;
        }
    }
    fields
        .binary_search_by(|field| u64::from(field.number).cmp(&number))
        .ok()
}

/// A field as seen by what is left out. What is inlined takes no step.
#[inline]
fn within_field<'x>(within: Within<'x>, field: &Field) -> Option<Within<'x>> {
    if within.is_kept() || field.inline {
        return Some(within);
    }
    within.field(field.name)
}

/// Whether JSON leaves out what is on the wire.
fn is_omitted(table: &Table, field: &Field, found: &[Found<'_>]) -> Result<bool, Error> {
    let Some((_, last)) = found.last() else {
        return Ok(false);
    };
    let omitted = match (field.omitted, field.kind) {
        (Omitted::WhenEmpty, _) if field.pointer => Ok(false),
        (Omitted::WhenEmpty, Kind::String | Kind::Bytes) => last.bytes().map(<[u8]>::is_empty),
        (Omitted::WhenEmpty, Kind::Bool | Kind::Int64) => last.varint().map(|value| value == 0),
        (Omitted::WhenEmpty, Kind::Int32) => last.varint().map(|value| low_half(value) == 0),
        (Omitted::WhenEmpty, Kind::Double) => last.double().map(|value| value == 0.0),
        (Omitted::WhenEmpty, Kind::Message(id)) if table.message(id).shape == Shape::List => {
            has_no_field(table.fields(table.message(id)), found)
        }
        (Omitted::WhenZeroTime, Kind::Time | Kind::MicroTime) => last
            .bytes()
            .and_then(|bytes| time_of(bytes, field.kind == Kind::MicroTime))
            .map(|time| time.is_none()),
        (Omitted::WhenZeroTime, Kind::Json) => last
            .bytes()
            .and_then(only_field)
            .map(|json| json.is_none_or(<[u8]>::is_empty)),
        _ => Ok(false),
    };
    omitted.map_err(|error| error.in_field(field.name))
}

/// Whether none of these is in any piece of a message.
fn has_no_field(fields: &[Field], found: &[Found<'_>]) -> Result<bool, Error> {
    for piece in pieces(found) {
        let mut reader = Fields::of(piece?);
        while let Some((number, _)) = reader.next()? {
            if fields.iter().any(|field| u64::from(field.number) == number) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
