//! The fields of a message in the form of its JSON.

use std::ops::Range;

use super::super::convert::{decode_time, low_32_bits, single_field};
use super::super::error::ProtobufErrorKind;
use super::super::field_reader::{Content, FieldReader};
use super::super::{Error, MAX_DEPTH};
use super::DecodeContext;
use super::buffered_fields::{BufferedFields, Occurrence, pieces};
use super::elements::ElementSource;
use super::value::{Repeated, Value, ValueSource};
use crate::field_mask::SubMask;
use crate::table::{
    self, Container, FastPath, FieldDescriptor, MAX_INLINE_DEPTH, MessageId, OmitRule, OmittedValue,
    ReadMethod, ValueKind,
};

/// Reads the fields of a message.
#[derive(Debug)]
pub(super) struct MessageReader<'de, 'x> {
    mask: SubMask<'x>,
    /// Nesting depth of the message.
    depth: usize,
    state: MessageState<'de>,
    /// Enclosing messages that this message is inlined in, outermost first.
    outer: [Option<MessageState<'de>>; MAX_INLINE_DEPTH],
    /// The current field.
    field: Option<&'static FieldDescriptor>,
    /// The content of the current field, unless it is buffered.
    value: Value<'de, 'x>,
    /// Only in the buffered pass.
    buffer: Option<Box<BufferedState<'de>>>,
    /// Whether most fields can use the fast path: nothing is masked and nothing is buffered.
    is_fast: bool,
}

/// The state of one message, without inlined ones.
#[derive(Clone, Copy, Debug)]
struct MessageState<'de> {
    fields: &'static [FieldDescriptor],
    /// Fields that JSON contains even if the message does not. Bits are field positions.
    always_printed: u64,
    /// Fields that were read. Bits are field positions.
    seen: u64,
    /// The position after the last field, usually that of the next one.
    at: usize,
    /// The unread fields, unless they are buffered.
    wire: FieldReader<'de>,
}

/// The buffered fields of a message and of those it is inlined in.
#[derive(Debug)]
struct BufferedState<'de> {
    /// Innermost message last.
    levels: Vec<BufferedFields<'de>>,
    /// Occurrences of the current field.
    field: Option<Range<usize>>,
}

impl<'de, 'x> MessageReader<'de, 'x> {
    /// Creates a reader for a message with one part.
    ///
    /// Does not check the depth, so that the reader is constructed in place.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "large value that is constructed in place")]
    pub(super) fn of(
        context: &'x DecodeContext<'de>,
        id: MessageId,
        message: &'de [u8],
        mask: SubMask<'x>,
        depth: usize,
    ) -> Self {
        let mut reader = Self::empty(context, id, mask, depth);
        reader.state.wire = FieldReader::of(message);
        reader.is_fast = mask.is_empty() && depth < MAX_DEPTH;
        reader
    }

    /// Creates a reader that buffers all fields of a message with any number of parts.
    #[cold]
    pub(super) fn buffered(
        context: &'x DecodeContext<'de>,
        id: MessageId,
        pieces: impl Iterator<Item = Result<&'de [u8], Error>>,
        mask: SubMask<'x>,
        depth: usize,
    ) -> Result<Self, Error> {
        let mut reader = Self::empty(context, id, mask, depth);
        reader.check_depth()?;
        reader.buffer = Some(Box::new(BufferedState {
            levels: vec![BufferedFields::of(reader.state.fields, pieces)?],
            field: None,
        }));
        Ok(reader)
    }

    #[inline]
    fn empty(context: &'x DecodeContext<'de>, id: MessageId, mask: SubMask<'x>, depth: usize) -> Self {
        Self {
            mask,
            depth,
            state: MessageState::empty(context, id),
            outer: [None; MAX_INLINE_DEPTH],
            field: None,
            value: Value {
                context,
                source: ValueSource::Null,
                kind: ValueKind::Bool,
                mask: SubMask::EMPTY,
                depth,
            },
            buffer: None,
            is_fast: false,
        }
    }

    /// Returns the current field.
    #[inline]
    pub(super) fn field(&self) -> Option<&'static FieldDescriptor> {
        self.field
    }

    pub(super) fn context(&self) -> &'x DecodeContext<'de> {
        self.value.context
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Disables the mask and returns it.
    pub(super) fn take_mask(&mut self) -> SubMask<'x> {
        std::mem::replace(&mut self.mask, SubMask::EMPTY)
    }

    /// Advances to the next field that JSON contains.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<Option<&'static FieldDescriptor>, Error> {
        if self.is_fast {
            if let Some(field) = self.next_fast() {
                return Ok(Some(field));
            }
            if self.state.is_done() && self.outer[0].is_none() {
                return Ok(None);
            }
        }
        self.advance_to_any()
    }

    fn advance_to_any(&mut self) -> Result<Option<&'static FieldDescriptor>, Error> {
        loop {
            self.field = if self.buffer.is_some() {
                self.next_buffered()?
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

    /// Returns the value of the current field, unless it is buffered.
    #[inline]
    pub(super) fn value_in_order(&self) -> Option<&Value<'de, 'x>> {
        self.buffer.is_none().then_some(&self.value)
    }

    /// Returns the value of the current field.
    #[inline]
    pub(super) fn value(&self) -> Value<'de, '_> {
        let mut value = self.value;
        if let Some(buffer) = &self.buffer
            && let (Some(range), Some(level)) = (&buffer.field, buffer.levels.last())
        {
            let found = &level.found[range.clone()];
            value.source = match self.field.map(|field| field.container) {
                Some(Container::Map) => ValueSource::Map(Repeated::Buffered(found)),
                Some(Container::List) => ValueSource::List(Repeated::Buffered(found)),
                _ => ValueSource::Pieces(found),
            };
        }
        value
    }

    /// Returns the values of the current list, independently of the reader. Returns `None` if they are not buffered.
    pub(super) fn into_elements(self) -> Option<ElementSource<'de, 'x>> {
        let BufferedState { mut levels, field } = *self.buffer?;
        let range = field?;
        let mut found = levels.pop()?.found;
        found.truncate(range.end);
        found.drain(..range.start);
        Some(ElementSource::buffered(found.into()))
    }

    fn check_depth(&self) -> Result<(), Error> {
        if self.value.depth >= MAX_DEPTH {
            return Err(ProtobufErrorKind::TooDeep.into());
        }
        Ok(())
    }

    /// Continues with the fields of an inlined message.
    fn enter(&mut self, id: MessageId, message: &'de [u8]) -> Result<(), Error> {
        let inner = MessageState {
            wire: FieldReader::of(message),
            ..MessageState::empty(self.value.context, id)
        };
        let Some(place) = self.outer.iter_mut().find(|place| place.is_none()) else {
            return Err(ProtobufErrorKind::TooDeep.into());
        };
        *place = Some(std::mem::replace(&mut self.state, inner));
        self.value.depth += 1;
        self.check_depth()
    }

    /// Returns to the enclosing message. Returns false for the outermost message.
    fn leave(&mut self) -> bool {
        let Some(outer) = self.outer.iter_mut().rev().find_map(Option::take) else {
            return false;
        };
        self.state = outer;
        self.value.depth -= 1;
        if let Some(buffer) = &mut self.buffer {
            buffer.levels.pop();
        }
        true
    }

    /// Reads the next field on the fast path: a single value of the expected type, in the order of the table. Returns
    /// `None` without reading anything otherwise.
    fn next_fast(&mut self) -> Option<&'static FieldDescriptor> {
        let state = &mut self.state;
        loop {
            let mut wire = state.wire;
            let tag = wire.short_varint()?;
            let mut position = state.at;
            let field = loop {
                let field = state.fields.get(position)?;
                if field.tag >= tag {
                    break field;
                }
                position += 1;
            };
            let bit = 1_u64 << position;
            if field.tag != tag || state.seen & bit != 0 {
                return None;
            }
            let (content, is_zero) = match field.fast_path {
                FastPath::Bytes | FastPath::BytesOrNone => {
                    let bytes = wire.short_bytes()?;
                    (Content::Bytes(bytes), bytes.is_empty())
                }
                FastPath::Number | FastPath::NumberOrNone => {
                    let number = wire.short_varint()?;
                    (Content::Varint(number.into()), number == 0)
                }
                FastPath::None => return None,
            };
            state.wire = wire;
            state.at = position + 1;
            state.seen |= bit;
            if is_zero && matches!(field.fast_path, FastPath::BytesOrNone | FastPath::NumberOrNone) {
                continue;
            }
            self.value.source = ValueSource::Single(content);
            self.value.kind = field.kind;
            self.field = Some(field);
            return Some(field);
        }
    }

    fn next_in_order(&mut self) -> Result<Option<&'static FieldDescriptor>, Error> {
        self.check_depth()?;
        loop {
            let before = self.state.wire;
            let Some((number, content)) = self.state.wire.next()? else {
                return Ok(None);
            };
            // Fields that are not in the table are newer than the table.
            let Some((position, field)) = table::position(self.state.fields, self.state.at, number) else {
                continue;
            };
            self.state.at = position + 1;
            let bit = 1_u64 << position;
            let is_first = self.state.seen & bit == 0;
            self.state.seen |= bit;
            let Some(mask) = field_mask(self.mask, field) else {
                continue;
            };
            if !is_first {
                return Err(self.value.context.non_contiguous());
            }
            self.value.source = match field.read_method {
                ReadMethod::Single(omitted_value) => {
                    if is_omitted(omitted_value, content)? {
                        continue;
                    }
                    ValueSource::Single(content)
                }
                ReadMethod::Time(omitted) => {
                    match decode_time(content.bytes()?, field.kind == ValueKind::MicroTime)? {
                        Some((seconds, micros)) => ValueSource::Timestamp(seconds, micros),
                        None if omitted == OmitRule::WhenZeroTime => continue,
                        None => ValueSource::Null,
                    }
                }
                ReadMethod::Inline(id) => {
                    self.enter(id, content.bytes()?)?;
                    continue;
                }
                // Packed numbers, which Kubernetes does not write.
                ReadMethod::Numbers if matches!(content, Content::Bytes(_)) => {
                    return Err(self.value.context.non_contiguous());
                }
                ReadMethod::List | ReadMethod::Numbers => {
                    ValueSource::List(Repeated::Run(self.state.wire.run_from(before)?))
                }
                ReadMethod::Map => ValueSource::Map(Repeated::Run(self.state.wire.run_from(before)?)),
            };
            self.value.kind = field.kind;
            self.value.mask = mask;
            return Ok(Some(field));
        }
    }

    #[cold]
    fn next_buffered(&mut self) -> Result<Option<&'static FieldDescriptor>, Error> {
        loop {
            let Some(buffer) = &mut self.buffer else {
                return Ok(None);
            };
            buffer.field = None;
            let Some(level) = buffer.levels.last_mut() else {
                return Ok(None);
            };
            let Some((position, range)) = level.next() else {
                return Ok(None);
            };
            let field = &self.state.fields[position];
            self.state.seen |= 1 << position;
            let Some(mask) = field_mask(self.mask, field) else {
                continue;
            };
            let found = &level.found[range.clone()];
            if let ReadMethod::Inline(id) = field.read_method {
                let fields = MessageState::empty(self.value.context, id).fields;
                let inner = BufferedFields::of(fields, pieces(found))?;
                buffer.levels.push(inner);
                self.enter(id, b"")?;
                continue;
            }
            self.value.kind = field.kind;
            self.value.mask = mask;
            let is_one = field.container == Container::Single;
            let last = match (field.kind, found) {
                (kind, [earlier @ .., (_, last)]) if is_one && !matches!(kind, ValueKind::Message(_)) => {
                    // Earlier values are replaced, but must be valid.
                    for (_, content) in earlier {
                        let value = Value {
                            source: ValueSource::Single(*content),
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
                Some(content) => self.value.source = ValueSource::Single(content),
                None => buffer.field = Some(range),
            }
            return Ok(Some(field));
        }
    }

    /// Returns the next field that JSON contains and the message does not.
    fn next_absent(&mut self) -> Result<Option<&'static FieldDescriptor>, Error> {
        loop {
            let absent = self.state.always_printed & !self.state.seen;
            if absent == 0 {
                return Ok(None);
            }
            let position = absent.trailing_zeros();
            self.state.seen |= 1 << position;
            let Some(field) = self.state.fields.get(position as usize) else {
                return Ok(None);
            };
            let Some(mask) = field_mask(self.mask, field) else {
                continue;
            };
            if let ReadMethod::Inline(id) = field.read_method {
                if let Some(buffer) = &mut self.buffer {
                    buffer.levels.push(BufferedFields::empty());
                }
                self.enter(id, b"")?;
                continue;
            }
            self.value.context.count_value()?;
            self.value.kind = field.kind;
            self.value.mask = mask;
            self.value.source = if field.is_nil_when_absent() {
                ValueSource::Null
            } else {
                ValueSource::Absent
            };
            return Ok(Some(field));
        }
    }
}

impl MessageState<'_> {
    /// Returns whether all fields in JSON were returned.
    #[inline]
    fn is_done(&self) -> bool {
        self.wire.rest().is_empty() && self.always_printed & !self.seen == 0
    }

    /// Creates the state for an empty message.
    #[inline]
    fn empty(context: &DecodeContext<'_>, id: MessageId) -> Self {
        let message = context.table.message(id);
        Self {
            fields: context.table.fields(message),
            always_printed: message.always_printed,
            seen: 0,
            at: 0,
            wire: FieldReader::of(b""),
        }
    }
}

/// Returns the mask for a field, or `None` if it is masked. Inlined messages add no segment to a path.
#[inline]
fn field_mask<'x>(mask: SubMask<'x>, field: &FieldDescriptor) -> Option<SubMask<'x>> {
    if mask.is_empty() || field.inline {
        return Some(mask);
    }
    mask.field(field.name)
}

/// Returns whether JSON omits the value.
#[inline(always)]
#[expect(clippy::inline_always, reason = "called for every field")]
fn is_omitted(omitted_value: OmittedValue, content: Content<'_>) -> Result<bool, Error> {
    match (omitted_value, content) {
        (OmittedValue::None, _) => Ok(false),
        (OmittedValue::EmptyText, Content::Bytes(text)) => Ok(text.is_empty()),
        (OmittedValue::ZeroNumber, Content::Varint(number)) => Ok(number == 0),
        _ => is_zero(omitted_value, content),
    }
}

#[cold]
fn is_zero(omitted_value: OmittedValue, content: Content<'_>) -> Result<bool, Error> {
    Ok(match omitted_value {
        OmittedValue::None => false,
        OmittedValue::EmptyText => content.bytes()?.is_empty(),
        OmittedValue::ZeroNumber => content.varint()? == 0,
        OmittedValue::ZeroInt32 => low_32_bits(content.varint()?) == 0,
        OmittedValue::ZeroDouble => content.double()? == 0.0,
        OmittedValue::EmptyList(number) => {
            let mut reader = FieldReader::of(content.bytes()?);
            let mut is_empty = true;
            while let Some((found, _)) = reader.next()? {
                is_empty &= found != u64::from(number);
            }
            is_empty
        }
        OmittedValue::EmptyJson => single_field(content.bytes()?)?.is_none_or(<[u8]>::is_empty),
    })
}

/// Returns whether JSON omits a field with several occurrences. All parts of a message count, and the last occurrence
/// of other fields.
fn all_omitted(field: &FieldDescriptor, found: &[Occurrence<'_>]) -> Result<bool, Error> {
    let counts = match field.kind {
        ValueKind::Message(_) => found,
        _ => found.last_chunk::<1>().map_or(found, |last| last),
    };
    for (_, content) in counts {
        let is_omitted = match field.read_method {
            ReadMethod::Single(omitted_value) => is_omitted(omitted_value, *content),
            ReadMethod::Time(OmitRule::WhenZeroTime) => content
                .bytes()
                .and_then(|time| decode_time(time, field.kind == ValueKind::MicroTime))
                .map(|decode_time| decode_time.is_none()),
            _ => Ok(false),
        };
        if !is_omitted.map_err(|error| error.in_field(field.name))? {
            return Ok(false);
        }
    }
    Ok(true)
}
