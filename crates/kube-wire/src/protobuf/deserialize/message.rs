//! The fields of a message, as JSON would have them.

use std::ops::Range;

use super::super::error::Reason;
use super::super::forms::{low_half, moment, only_field};
use super::super::read::{Content, Fields};
use super::super::{Error, MAX_DEPTH};
use super::Reading;
use super::elements::Source;
use super::gathered::{Found, Gathered, pieces};
use super::value::{Held, Repeated, Value};
use crate::field_mask::Within;
use crate::table::{self, Container, Field, Glance, INLINED, Kind, LeftOut, MessageId, Omitted, Way};

/// A message that is being read.
#[derive(Debug)]
pub(super) struct Message<'de, 'x> {
    within: Within<'x>,
    /// How many messages it is in, less one.
    depth: usize,
    frame: Frame<'de>,
    /// The messages around it whose fields are fields of the same JSON object, outermost first.
    outer: [Option<Frame<'de>>; INLINED],
    /// The field that was read last.
    field: Option<&'static Field>,
    /// What it holds, if that was not gathered.
    value: Value<'de, 'x>,
    /// Only of a message that is read with care.
    careful: Option<Box<Careful<'de>>>,
    /// Whether most fields can be read with one look: nothing is left out of it, and nothing was gathered.
    is_simple: bool,
}

/// A message whose fields are shown, by itself.
#[derive(Clone, Copy, Debug)]
struct Frame<'de> {
    fields: &'static [Field],
    /// Bits of the fields that are shown also if they are not there.
    always_printed: u64,
    /// Bits of the fields that were there.
    seen: u64,
    /// The position after the field that came last: mostly that one comes next.
    at: usize,
    /// What has not been read, if fields are read in the order in which they come.
    wire: Fields<'de>,
}

/// What was gathered of a message and of those around it.
#[derive(Debug)]
struct Careful<'de> {
    /// The innermost last.
    frames: Vec<Gathered<'de>>,
    /// Where the field is that was read last.
    field: Option<Range<usize>>,
}

impl<'de, 'x> Message<'de, 'x> {
    /// A message in one piece.
    ///
    /// It is not checked here how deep it is, so that it can be made where it stays.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is large, and made where it stays")]
    pub(super) fn of(
        reading: &'x Reading<'de>,
        id: MessageId,
        message: &'de [u8],
        within: Within<'x>,
        depth: usize,
    ) -> Self {
        let mut made = Self::empty(reading, id, within, depth);
        made.frame.wire = Fields::of(message);
        made.is_simple = within.is_kept() && depth < MAX_DEPTH;
        made
    }

    /// The same, with all fields gathered, from any number of pieces.
    #[cold]
    pub(super) fn gathered(
        reading: &'x Reading<'de>,
        id: MessageId,
        pieces: impl Iterator<Item = Result<&'de [u8], Error>>,
        within: Within<'x>,
        depth: usize,
    ) -> Result<Self, Error> {
        let mut made = Self::empty(reading, id, within, depth);
        made.check_depth()?;
        made.careful = Some(Box::new(Careful {
            frames: vec![Gathered::of(made.frame.fields, pieces)?],
            field: None,
        }));
        Ok(made)
    }

    #[inline]
    fn empty(reading: &'x Reading<'de>, id: MessageId, within: Within<'x>, depth: usize) -> Self {
        Self {
            within,
            depth,
            frame: Frame::empty(reading, id),
            outer: [None; INLINED],
            field: None,
            value: Value {
                reading,
                held: Held::Null,
                kind: Kind::Bool,
                within: Within::KEPT,
                depth,
            },
            careful: None,
            is_simple: false,
        }
    }

    /// The field that was read last.
    #[inline]
    pub(super) fn field(&self) -> Option<&'static Field> {
        self.field
    }

    pub(super) fn reading(&self) -> &'x Reading<'de> {
        self.value.reading
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Reads on as if nothing were left out, and tells what would be.
    pub(super) fn keep_all(&mut self) -> Within<'x> {
        std::mem::replace(&mut self.within, Within::KEPT)
    }

    /// Reads on to the next field that JSON has.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<Option<&'static Field>, Error> {
        if self.is_simple {
            if let Some(field) = self.next_simple() {
                return Ok(Some(field));
            }
            if self.frame.is_done() && self.outer[0].is_none() {
                return Ok(None);
            }
        }
        self.advance_to_any()
    }

    fn advance_to_any(&mut self) -> Result<Option<&'static Field>, Error> {
        loop {
            self.field = if self.careful.is_some() {
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
            if !self.leave() {
                return Ok(None);
            }
        }
    }

    /// What the field that was read last holds, if it was not gathered.
    #[inline]
    pub(super) fn value_in_order(&self) -> Option<&Value<'de, 'x>> {
        self.careful.is_none().then_some(&self.value)
    }

    /// What the field that was read last holds.
    #[inline]
    pub(super) fn value(&self) -> Value<'de, '_> {
        let mut value = self.value;
        if let Some(careful) = &self.careful
            && let (Some(range), Some(gathered)) = (&careful.field, careful.frames.last())
        {
            let found = &gathered.found[range.clone()];
            value.held = match self.field.map(|field| field.container) {
                Some(Container::Map) => Held::Map(Repeated::Many(found)),
                Some(Container::List) => Held::List(Repeated::Many(found)),
                _ => Held::Pieces(found),
            };
        }
        value
    }

    /// Takes the values of the list that was read last with it, for those who outlive the message; none if they were not
    /// gathered.
    pub(super) fn into_elements(self) -> Option<Source<'de, 'x>> {
        let Careful { mut frames, field } = *self.careful?;
        let range = field?;
        let mut found = frames.pop()?.found;
        found.truncate(range.end);
        found.drain(..range.start);
        Some(Source::many(found.into()))
    }

    fn check_depth(&self) -> Result<(), Error> {
        if self.value.depth >= MAX_DEPTH {
            return Err(Reason::TooDeep.into());
        }
        Ok(())
    }

    /// Goes on with the fields of a message that is inlined in this one.
    fn enter(&mut self, id: MessageId, message: &'de [u8]) -> Result<(), Error> {
        let inner = Frame {
            wire: Fields::of(message),
            ..Frame::empty(self.value.reading, id)
        };
        let Some(place) = self.outer.iter_mut().find(|place| place.is_none()) else {
            return Err(Reason::TooDeep.into());
        };
        *place = Some(std::mem::replace(&mut self.frame, inner));
        self.value.depth += 1;
        self.check_depth()
    }

    /// Goes back to the message around; false if this is the outermost.
    fn leave(&mut self) -> bool {
        let Some(outer) = self.outer.iter_mut().rev().find_map(Option::take) else {
            return false;
        };
        self.frame = outer;
        self.value.depth -= 1;
        if let Some(careful) = &mut self.careful {
            careful.frames.pop();
        }
        true
    }

    /// The next field, if it comes as most do: a value in one piece that is of the table's type, after those that the
    /// table has before it. Otherwise nothing has been read.
    fn next_simple(&mut self) -> Option<&'static Field> {
        let frame = &mut self.frame;
        loop {
            let mut wire = frame.wire;
            let tag = wire.short_varint()?;
            let mut position = frame.at;
            let field = loop {
                let field = frame.fields.get(position)?;
                if field.tag >= tag {
                    break field;
                }
                position += 1;
            };
            let bit = 1_u64 << position;
            if field.tag != tag || frame.seen & bit != 0 {
                return None;
            }
            let (content, is_zero) = match field.glance {
                Glance::Bytes | Glance::BytesOrNone => {
                    let bytes = wire.short_bytes()?;
                    (Content::Bytes(bytes), bytes.is_empty())
                }
                Glance::Number | Glance::NumberOrNone => {
                    let number = wire.short_varint()?;
                    (Content::Varint(number.into()), number == 0)
                }
                Glance::None => return None,
            };
            frame.wire = wire;
            frame.at = position + 1;
            frame.seen |= bit;
            if is_zero && matches!(field.glance, Glance::BytesOrNone | Glance::NumberOrNone) {
                continue;
            }
            self.value.held = Held::One(content);
            self.value.kind = field.kind;
            self.field = Some(field);
            return Some(field);
        }
    }

    fn next_in_order(&mut self) -> Result<Option<&'static Field>, Error> {
        self.check_depth()?;
        loop {
            let before = self.frame.wire;
            let Some((number, content)) = self.frame.wire.next()? else {
                return Ok(None);
            };
            // Fields that are not known are newer than the table.
            let Some((position, field)) = table::position(self.frame.fields, self.frame.at, number) else {
                continue;
            };
            self.frame.at = position + 1;
            let bit = 1_u64 << position;
            let is_first = self.frame.seen & bit == 0;
            self.frame.seen |= bit;
            let Some(within) = within_field(self.within, field) else {
                continue;
            };
            if !is_first {
                return Err(self.value.reading.scattered());
            }
            self.value.held = match field.way {
                Way::One(left_out) => {
                    if is_omitted(left_out, content)? {
                        continue;
                    }
                    Held::One(content)
                }
                Way::Time(omitted) => match moment(content.bytes()?, field.kind == Kind::MicroTime)? {
                    Some((seconds, micros)) => Held::Moment(seconds, micros),
                    None if omitted == Omitted::WhenZeroTime => continue,
                    None => Held::Null,
                },
                Way::Inline(id) => {
                    self.enter(id, content.bytes()?)?;
                    continue;
                }
                // Packed numbers, which Kubernetes does not write.
                Way::Numbers if matches!(content, Content::Bytes(_)) => {
                    return Err(self.value.reading.scattered());
                }
                Way::List | Way::Numbers => Held::List(Repeated::Run(self.frame.wire.run_from(before)?)),
                Way::Map => Held::Map(Repeated::Run(self.frame.wire.run_from(before)?)),
            };
            self.value.kind = field.kind;
            self.value.within = within;
            return Ok(Some(field));
        }
    }

    #[cold]
    fn next_gathered(&mut self) -> Result<Option<&'static Field>, Error> {
        loop {
            let Some(careful) = &mut self.careful else {
                return Ok(None);
            };
            careful.field = None;
            let Some(gathered) = careful.frames.last_mut() else {
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
            if let Way::Inline(id) = field.way {
                let fields = Frame::empty(self.value.reading, id).fields;
                let inner = Gathered::of(fields, pieces(found))?;
                careful.frames.push(inner);
                self.enter(id, b"")?;
                continue;
            }
            self.value.kind = field.kind;
            self.value.within = within;
            let is_one = field.container == Container::One;
            let last = match (field.kind, found) {
                (kind, [earlier @ .., (_, last)]) if is_one && !matches!(kind, Kind::Message(_)) => {
                    // They do not count any more, but have to be right.
                    for (_, content) in earlier {
                        let value = Value {
                            held: Held::One(*content),
                            ..self.value
                        };
                        value.check().map_err(|error| error.in_field(field.name))?;
                    }
                    Some(*last)
                }
                _ => None,
            };
            if is_one && all_omitted(field, found)? {
                continue;
            }
            match last {
                Some(content) => self.value.held = Held::One(content),
                None => careful.field = Some(range),
            }
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
            if let Way::Inline(id) = field.way {
                if let Some(careful) = &mut self.careful {
                    careful.frames.push(Gathered::nothing());
                }
                self.enter(id, b"")?;
                continue;
            }
            self.value.reading.spend()?;
            self.value.kind = field.kind;
            self.value.within = within;
            self.value.held = if field.is_nil_when_absent() {
                Held::Null
            } else {
                Held::Absent
            };
            return Ok(Some(field));
        }
    }
}

impl Frame<'_> {
    /// Whether all that JSON has of it was shown.
    #[inline]
    fn is_done(&self) -> bool {
        self.wire.rest().is_empty() && self.always_printed & !self.seen == 0
    }

    /// A message of which there is nothing yet.
    #[inline]
    fn empty(reading: &Reading<'_>, id: MessageId) -> Self {
        let message = reading.table.message(id);
        Self {
            fields: reading.table.fields(message),
            always_printed: message.always_printed,
            seen: 0,
            at: 0,
            wire: Fields::of(b""),
        }
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
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it is asked of every field, and mostly has no"
)]
fn is_omitted(left_out: LeftOut, content: Content<'_>) -> Result<bool, Error> {
    match (left_out, content) {
        (LeftOut::Never, _) => Ok(false),
        (LeftOut::EmptyText, Content::Bytes(text)) => Ok(text.is_empty()),
        (LeftOut::ZeroNumber, Content::Varint(number)) => Ok(number == 0),
        _ => is_zero(left_out, content),
    }
}

#[cold]
fn is_zero(left_out: LeftOut, content: Content<'_>) -> Result<bool, Error> {
    Ok(match left_out {
        LeftOut::Never => false,
        LeftOut::EmptyText => content.bytes()?.is_empty(),
        LeftOut::ZeroNumber => content.varint()? == 0,
        LeftOut::ZeroInt32 => low_half(content.varint()?) == 0,
        LeftOut::ZeroDouble => content.double()? == 0.0,
        LeftOut::EmptyList(number) => {
            let mut reader = Fields::of(content.bytes()?);
            let mut is_empty = true;
            while let Some((found, _)) = reader.next()? {
                is_empty &= found != u64::from(number);
            }
            is_empty
        }
        LeftOut::EmptyJson => only_field(content.bytes()?)?.is_none_or(<[u8]>::is_empty),
    })
}

/// The same of a field that may have come more than once: of a message all pieces count, of others the last.
fn all_omitted(field: &Field, found: &[Found<'_>]) -> Result<bool, Error> {
    let counts = match field.kind {
        Kind::Message(_) => found,
        _ => found.last_chunk::<1>().map_or(found, |last| last),
    };
    for (_, content) in counts {
        let is_omitted = match field.way {
            Way::One(left_out) => is_omitted(left_out, *content),
            Way::Time(Omitted::WhenZeroTime) => content
                .bytes()
                .and_then(|time| moment(time, field.kind == Kind::MicroTime))
                .map(|moment| moment.is_none()),
            _ => Ok(false),
        };
        if !is_omitted.map_err(|error| error.in_field(field.name))? {
            return Ok(false);
        }
    }
    Ok(true)
}
