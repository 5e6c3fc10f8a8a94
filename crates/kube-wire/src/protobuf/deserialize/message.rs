//! The fields of a message, as JSON would have them.

use std::ops::Range;

use super::super::error::Reason;
use super::super::forms::{low_half, moment, only_field};
use super::super::read::{Content, Fields, Run};
use super::super::{Error, MAX_DEPTH};
use super::Reading;
use super::elements::Source;
use super::gathered::{Found, Gathered, pieces};
use super::value::{Held, Repeated, Value};
use crate::skip::Within;
use crate::table::{self, Container, Field, Kind, MessageId, Omitted, Shape, Table};

/// A message that is being read.
#[derive(Debug)]
pub(super) struct Message<'de, 'x> {
    pub(super) reading: &'x Reading,
    pub(super) within: Within<'x>,
    pub(super) depth: usize,
    frame: Frame<'de>,
    /// The messages around it whose fields are fields of the same JSON object.
    outer: Vec<Frame<'de>>,
    /// The field that was read last.
    field: Option<&'static Field>,
    field_within: Within<'x>,
    field_holds: Holds<'de>,
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
    /// What has not been read, if fields are read in the order in which they come.
    wire: Fields<'de>,
    gathered: Option<Box<Gathered<'de>>>,
}

/// What there is of a field that JSON has.
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
    /// A message in one piece.
    #[inline]
    pub(super) fn of(
        reading: &'x Reading,
        id: MessageId,
        message: &'de [u8],
        within: Within<'x>,
        depth: usize,
    ) -> Result<Self, Error> {
        let mut frame = Frame::empty(reading, id, depth)?;
        if reading.careful {
            frame.gather(std::iter::once(Ok(message)))?;
        } else {
            frame.wire = Fields::of(message);
        }
        Ok(Self::new(reading, within, depth, frame))
    }

    /// A message whose pieces were gathered.
    pub(super) fn of_pieces(
        reading: &'x Reading,
        id: MessageId,
        found: &[Found<'de>],
        within: Within<'x>,
        depth: usize,
    ) -> Result<Self, Error> {
        let mut frame = Frame::empty(reading, id, depth)?;
        frame.gather(pieces(found))?;
        Ok(Self::new(reading, within, depth, frame))
    }

    #[inline]
    fn new(reading: &'x Reading, within: Within<'x>, depth: usize, frame: Frame<'de>) -> Self {
        Self {
            reading,
            within,
            depth,
            frame,
            outer: Vec::new(),
            field: None,
            field_within: Within::KEPT,
            field_holds: Holds::Null,
        }
    }

    /// The field that was read last.
    #[inline]
    pub(super) fn field(&self) -> Option<&'static Field> {
        self.field
    }

    /// Reads on to the next field that JSON has.
    pub(super) fn advance(&mut self) -> Result<Option<&'static Field>, Error> {
        loop {
            self.field = if self.frame.gathered.is_some() {
                self.next_gathered()?
            } else {
                self.next_in_order()?
            };
            if self.field.is_none() {
                self.field = self.next_absent()?;
            }
            if self.field.is_some() {
                return Ok(self.field);
            }
            match self.outer.pop() {
                Some(outer) => self.frame = outer,
                None => return Ok(None),
            }
        }
    }

    /// What the field that was read last holds.
    #[inline]
    pub(super) fn value(&self) -> Value<'de, '_> {
        let (kind, container) = match self.field {
            Some(field) => (field.kind, field.container),
            None => (Kind::Bool, Container::One),
        };
        let repeated = |repeated| match container {
            Container::Map => Held::Map(repeated),
            _ => Held::List(repeated),
        };
        let held = match (&self.field_holds, &self.frame.gathered) {
            (Holds::One(content), _) => Held::One(*content),
            (Holds::Run(run), _) => repeated(Repeated::Run(*run)),
            (Holds::Null, _) => Held::Null,
            (Holds::Gathered(range), Some(gathered)) => {
                let found = &gathered.found[range.clone()];
                match container {
                    Container::One => Held::Pieces(found),
                    _ => repeated(Repeated::Many(found)),
                }
            }
            (Holds::Absent | Holds::Gathered(_), _) => Held::Absent,
        };
        Value {
            reading: self.reading,
            held,
            kind,
            within: self.field_within,
            depth: self.depth + self.outer.len(),
        }
    }

    /// Takes the values of the list that was read last with it, for those who outlive the message.
    pub(super) fn into_elements(self) -> Option<Source<'de, 'x>> {
        match (self.field_holds, self.frame.gathered) {
            (Holds::Run(run), _) => Some(Source::Run(run)),
            (Holds::Gathered(range), Some(mut gathered)) => {
                gathered.found.truncate(range.end);
                gathered.found.drain(..range.start);
                Some(Source::many(gathered.found.into()))
            }
            _ => None,
        }
    }

    fn next_in_order(&mut self) -> Result<Option<&'static Field>, Error> {
        loop {
            let before = self.frame.wire;
            let Some((number, content)) = self.frame.wire.next()? else {
                return Ok(None);
            };
            // Fields that are not known are newer than the table.
            let Some(position) = table::position(self.frame.fields, self.frame.at, number) else {
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
            self.field_within = within;
            self.field_holds = match (field.container, field.kind) {
                (Container::One, Kind::Message(id)) if field.inline => {
                    let mut inner = Frame::empty(self.reading, id, self.depth + self.outer.len() + 1)?;
                    inner.wire = Fields::of(content.bytes()?);
                    self.outer.push(std::mem::replace(&mut self.frame, inner));
                    continue;
                }
                (Container::One, _) => {
                    if is_omitted(self.reading.table, field, content)? {
                        continue;
                    }
                    Holds::One(content)
                }
                // Packed numbers, which Kubernetes does not write.
                (Container::List, Kind::Bool | Kind::Int32 | Kind::Int64)
                    if matches!(content, Content::Bytes(_)) =>
                {
                    return Err(self.reading.scattered());
                }
                _ => {
                    let run = self.frame.wire.run_from(before);
                    Holds::Run(run.map_err(|error| error.in_field(field.name))?)
                }
            };
            return Ok(Some(field));
        }
    }

    #[cold]
    fn next_gathered(&mut self) -> Result<Option<&'static Field>, Error> {
        loop {
            let Some(gathered) = &mut self.frame.gathered else {
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
            let depth = self.depth + self.outer.len();
            if let (true, Kind::Message(id)) = (field.inline, field.kind) {
                let mut inner = Frame::empty(self.reading, id, depth + 1)?;
                inner.gather(pieces(found))?;
                self.outer.push(std::mem::replace(&mut self.frame, inner));
                continue;
            }
            let is_one = field.container == Container::One;
            let last = match (field.kind, found) {
                (kind, [earlier @ .., (_, last)]) if is_one && !matches!(kind, Kind::Message(_)) => {
                    // They do not count any more, but have to be right.
                    for (_, content) in earlier {
                        let value = Value {
                            reading: self.reading,
                            held: Held::One(*content),
                            kind,
                            within,
                            depth,
                        };
                        value.check().map_err(|error| error.in_field(field.name))?;
                    }
                    Some(*last)
                }
                _ => None,
            };
            if is_one && all_omitted(self.reading.table, field, found)? {
                continue;
            }
            self.field_within = within;
            self.field_holds = last.map_or(Holds::Gathered(range), Holds::One);
            return Ok(Some(field));
        }
    }

    /// The next field of which the wire has nothing, and yet JSON has something.
    fn next_absent(&mut self) -> Result<Option<&'static Field>, Error> {
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
                let inner = Frame::empty(self.reading, id, self.depth + self.outer.len() + 1)?;
                self.outer.push(std::mem::replace(&mut self.frame, inner));
                continue;
            }
            self.reading.spend()?;
            self.field_within = within;
            self.field_holds = if self.reading.table.is_nil_when_absent(field) {
                Holds::Null
            } else {
                Holds::Absent
            };
            return Ok(Some(field));
        }
    }
}

impl<'de> Frame<'de> {
    /// A message of which there is nothing yet.
    #[inline]
    fn empty(reading: &Reading, id: MessageId, depth: usize) -> Result<Self, Error> {
        if depth >= MAX_DEPTH {
            return Err(Reason::TooDeep.into());
        }
        let message = reading.table.message(id);
        Ok(Self {
            fields: reading.table.fields(message),
            always_printed: message.always_printed,
            seen: 0,
            at: 0,
            wire: Fields::of(b""),
            gathered: None,
        })
    }

    #[cold]
    fn gather(&mut self, pieces: impl Iterator<Item = Result<&'de [u8], Error>>) -> Result<(), Error> {
        self.gathered = Some(Box::new(Gathered::of(self.fields, pieces)?));
        Ok(())
    }
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
#[inline]
fn is_omitted(table: &Table, field: &Field, content: Content<'_>) -> Result<bool, Error> {
    match (field.omitted, field.kind, content) {
        (Omitted::Never, ..) => Ok(false),
        (Omitted::WhenEmpty, ..) if field.pointer => Ok(false),
        (Omitted::WhenEmpty, Kind::String, Content::Bytes(text)) => Ok(text.is_empty()),
        _ => is_zero(table, field, content).map_err(|error| error.in_field(field.name)),
    }
}

fn is_zero(table: &Table, field: &Field, content: Content<'_>) -> Result<bool, Error> {
    Ok(match (field.omitted, field.kind) {
        (Omitted::WhenEmpty, Kind::String | Kind::Bytes) => content.bytes()?.is_empty(),
        (Omitted::WhenEmpty, Kind::Bool | Kind::Int64) => content.varint()? == 0,
        (Omitted::WhenEmpty, Kind::Int32) => low_half(content.varint()?) == 0,
        (Omitted::WhenEmpty, Kind::Double) => content.double()? == 0.0,
        (Omitted::WhenEmpty, Kind::Message(id)) if table.message(id).shape == Shape::List => {
            let fields = table.fields(table.message(id));
            let mut reader = Fields::of(content.bytes()?);
            let mut is_empty = true;
            while let Some((number, _)) = reader.next()? {
                is_empty &= fields.iter().all(|field| u64::from(field.number) != number);
            }
            is_empty
        }
        (Omitted::WhenZeroTime, Kind::Time | Kind::MicroTime) => {
            moment(content.bytes()?, field.kind == Kind::MicroTime)?.is_none()
        }
        (Omitted::WhenZeroTime, Kind::Json) => only_field(content.bytes()?)?.is_none_or(<[u8]>::is_empty),
        _ => false,
    })
}

/// The same of a field that may have come more than once: of a message all pieces count, of others the last.
fn all_omitted(table: &Table, field: &Field, found: &[Found<'_>]) -> Result<bool, Error> {
    let counts = match field.kind {
        Kind::Message(_) => found,
        _ => found.last_chunk::<1>().map_or(found, |last| last),
    };
    for (_, content) in counts {
        if !is_omitted(table, field, *content)? {
            return Ok(false);
        }
    }
    Ok(true)
}
