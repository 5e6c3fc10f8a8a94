//! An incremental reader for lists.

use std::fmt;

use bytes::Bytes;

use super::convert::string;
use super::envelope::text;
use super::error::ProtobufErrorKind;
use super::field_reader::FieldReader;
use super::input_buffer::InputBuffer;
use super::{Error, MAGIC};
use crate::length::Length;
use crate::table::{Container, ValueKind, table};

/// Reads a list while it is received. Keeps at most one item and the last chunk in memory.
///
/// # Examples
///
/// ```
/// use bytes::Bytes;
/// use kube_wire::FieldMask;
/// use kube_wire::protobuf::{ListEvent, ListReader, Schema, encode};
/// use serde_json::{Value, json};
///
/// let body = encode(&json!({
///     "apiVersion": "v1",
///     "kind": "ConfigMapList",
///     "metadata": {"resourceVersion": "7"},
///     "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}],
/// }))?;
/// let schema = Schema::of("v1", "ConfigMap").expect("built-in kind");
///
/// let mut list = ListReader::new(1 << 20);
/// let mut names = Vec::new();
/// for chunk in body.chunks(10) {
///     list.push(Bytes::copy_from_slice(chunk));
///     while let Some(event) = list.next()? {
///         match event {
///             ListEvent::Head { kind, .. } => assert_eq!(kind, "ConfigMapList"),
///             ListEvent::Item(message) => names.push(schema.identity(&message)?.name.into_owned()),
///         }
///     }
/// }
/// assert_eq!(list.finish()?.resource_version, "7");
/// assert_eq!(names, ["a", "b"]);
/// # Ok::<(), kube_wire::protobuf::Error>(())
/// ```
#[derive(Debug)]
pub struct ListReader {
    input_buffer: InputBuffer,
    limit: usize,
    state: ProtobufListState,
    header: FieldHeader,
    /// Field numbers of the list, or `None` until its kind is known.
    numbers: Option<FieldNumbers>,
    /// Number of bytes of the list that were not read yet.
    list_left: u64,
    /// Whether the current field belongs to the list, not to its envelope.
    is_in_list: bool,
    has_list: bool,
    meta: ListMeta,
}

/// A part of a list.
///
/// Returned by [`ListReader::next`].
#[derive(Clone, PartialEq, Eq)]
pub enum ListEvent {
    /// The type of the list. Always the first event.
    Head {
        /// apiVersion of the list.
        api_version: String,
        /// Kind of the list, such as `PodList`.
        kind: String,
    },
    /// The message of an item, without an envelope. An item within one chunk is a slice of it, so copy small parts
    /// that are kept for long.
    Item(Bytes),
}

/// Metadata of a list.
///
/// Returned by [`ListReader::finish`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListMeta {
    /// Resource version of the list.
    pub resource_version: String,
    /// Token for the next page. Empty on the last page.
    pub continue_token: String,
    /// Number of items after this page, if the server sends it.
    pub remaining: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
struct FieldNumbers {
    metadata: u64,
    items: u64,
}

/// The next part of the encoding.
#[derive(Clone, Copy, Debug)]
enum ProtobufListState {
    Magic,
    /// The tag of a field, and its length or number.
    FieldHeader,
    /// The content of a field that is needed.
    Content(ContentRole, usize),
    /// The content of a field that is ignored.
    Skip(usize),
}

#[derive(Clone, Copy, Debug)]
enum ContentRole {
    Type,
    Metadata,
    Item,
}

/// The tag of a field, and its length or number. May span several chunks.
#[derive(Debug, Default)]
struct FieldHeader {
    tag: PartialVarint,
    length_or_value: PartialVarint,
}

#[derive(Debug, Default)]
struct PartialVarint {
    value: u64,
    len: u32,
    is_whole: bool,
}

impl fmt::Debug for ListEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head { api_version, kind } => f
                .debug_struct("Head")
                .field("api_version", api_version)
                .field("kind", kind)
                .finish(),
            Self::Item(message) => f.debug_tuple("Item").field(&Length(message.len())).finish(),
        }
    }
}

impl PartialVarint {
    fn add(&mut self, byte: u8) -> Result<(), Error> {
        if self.len == 10 {
            return Err(Error::malformed("varint is too long"));
        }
        self.value |= u64::from(byte & 0x7f) << (7 * self.len);
        self.len += 1;
        self.is_whole = byte < 0x80;
        Ok(())
    }
}

impl ListReader {
    /// Creates a reader for lists whose items have at most `limit` bytes each.
    pub fn new(limit: usize) -> Self {
        Self {
            input_buffer: InputBuffer::default(),
            limit,
            state: ProtobufListState::Magic,
            header: FieldHeader::default(),
            numbers: None,
            list_left: 0,
            is_in_list: false,
            has_list: false,
            meta: ListMeta::default(),
        }
    }

    /// Appends a chunk. Call [`next`](Self::next) until it returns `None` before appending the next one.
    pub fn push(&mut self, chunk: Bytes) {
        self.input_buffer.push(chunk);
    }

    /// Returns the next part, or `None` until more was received.
    ///
    /// # Errors
    /// Returns an error if the list is malformed or exceeds the limit. The reader cannot be used after an error.
    /// [`is_unknown_kind`](Error::is_unknown_kind) is also true for kinds that are not lists of objects.
    #[expect(
        clippy::should_implement_trait,
        reason = "not an iterator: `None` is not the end"
    )]
    pub fn next(&mut self) -> Result<Option<ListEvent>, Error> {
        loop {
            match self.state {
                ProtobufListState::Magic => {
                    let Some(magic) = self.input_buffer.take(MAGIC.len()) else {
                        return Ok(None);
                    };
                    if magic != MAGIC {
                        return Err(ProtobufErrorKind::NotProtobuf.into());
                    }
                    self.state = ProtobufListState::FieldHeader;
                }
                ProtobufListState::FieldHeader => {
                    if !self.read_header()? {
                        return Ok(None);
                    }
                }
                ProtobufListState::Skip(left) => {
                    let dropped = self.input_buffer.skip(left);
                    if dropped < left {
                        self.state = ProtobufListState::Skip(left - dropped);
                        return Ok(None);
                    }
                    self.state = ProtobufListState::FieldHeader;
                }
                ProtobufListState::Content(role, len) => {
                    let Some(content) = self.input_buffer.take(len) else {
                        return Ok(None);
                    };
                    self.state = ProtobufListState::FieldHeader;
                    match role {
                        ContentRole::Type => return self.read_type(&content).map(Some),
                        ContentRole::Metadata => self.read_metadata(&content)?,
                        ContentRole::Item => return Ok(Some(ListEvent::Item(content))),
                    }
                }
            }
        }
    }

    /// Returns the metadata, when all chunks were pushed and read.
    ///
    /// # Errors
    /// Returns an error with [`is_eof`](Error::is_eof) if the list is incomplete.
    pub fn finish(self) -> Result<ListMeta, Error> {
        let is_whole = matches!(self.state, ProtobufListState::FieldHeader)
            && self.header.tag.len == 0
            && self.list_left == 0;
        if is_whole && self.has_list && self.input_buffer.is_empty() {
            Ok(self.meta)
        } else {
            Err(ProtobufErrorKind::UnexpectedEof.into())
        }
    }

    /// Reads the header of a field and determines the next state. Returns false if the header is incomplete.
    fn read_header(&mut self) -> Result<bool, Error> {
        if self.header.tag.len == 0 {
            self.is_in_list = self.list_left > 0;
        }
        let is_in_list = self.is_in_list;
        loop {
            let wire_type = self.header.tag.value & 7;
            if self.header.tag.is_whole
                && (self.header.length_or_value.is_whole || matches!(wire_type, 1 | 5))
            {
                break;
            }
            let Some(byte) = self.input_buffer.byte() else {
                return Ok(false);
            };
            if is_in_list {
                let left = self.list_left.checked_sub(1);
                self.list_left = left.ok_or_else(longer_than_list)?;
            }
            if self.header.tag.is_whole {
                self.header.length_or_value.add(byte)?;
            } else {
                self.header.tag.add(byte)?;
            }
        }
        let FieldHeader { tag, length_or_value } = std::mem::take(&mut self.header);
        let len = match tag.value & 7 {
            0 => 0,
            1 => 8,
            2 => length_or_value.value,
            5 => 4,
            _ => return Err(Error::malformed("unknown wire type")),
        };
        if is_in_list {
            self.list_left = self.list_left.checked_sub(len).ok_or_else(longer_than_list)?;
        }
        let is_message = tag.value & 7 == 2;
        let role = match (tag.value >> 3, self.numbers) {
            (0, _) => return Err(Error::malformed("field number is zero")),
            (number, Some(numbers)) if is_in_list && is_message && number == numbers.items => {
                Some(ContentRole::Item)
            }
            (number, Some(numbers)) if is_in_list && is_message && number == numbers.metadata => {
                Some(ContentRole::Metadata)
            }
            _ if is_in_list => None,
            (1, None) if is_message => Some(ContentRole::Type),
            (1, Some(_)) => return Err(Error::malformed("duplicate type in the envelope")),
            (2, Some(_)) if is_message && !self.has_list => {
                self.has_list = true;
                self.list_left = len;
                return Ok(true);
            }
            (2, Some(_)) => return Err(Error::malformed("duplicate object in the envelope")),
            (2, None) => return Err(Error::malformed("object precedes its type")),
            _ => None,
        };
        let len = usize::try_from(len).map_err(|_| ProtobufErrorKind::TooLarge)?;
        self.state = match role {
            Some(_) if len > self.limit => return Err(ProtobufErrorKind::TooLarge.into()),
            Some(role) => ProtobufListState::Content(role, len),
            None => ProtobufListState::Skip(len),
        };
        Ok(true)
    }

    fn read_type(&mut self, message: &[u8]) -> Result<ListEvent, Error> {
        let (mut api_version, mut kind) = ("", "");
        let mut fields = FieldReader::of(message);
        while let Some((number, content)) = fields.next()? {
            match number {
                1 => api_version = text(content.bytes()?)?,
                2 => kind = text(content.bytes()?)?,
                _ => {}
            }
        }
        let numbers = numbers(api_version, kind);
        self.numbers = Some(numbers.ok_or_else(|| Error::unknown_kind(api_version, kind))?);
        Ok(ListEvent::Head {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        })
    }

    fn read_metadata(&mut self, message: &[u8]) -> Result<(), Error> {
        let mut fields = FieldReader::of(message);
        while let Some((number, content)) = fields.next()? {
            match number {
                2 => self.meta.resource_version = string(content.bytes()?).into_owned(),
                3 => self.meta.continue_token = string(content.bytes()?).into_owned(),
                4 => self.meta.remaining = Some(content.varint()?.cast_signed()),
                _ => {}
            }
        }
        Ok(())
    }
}

fn numbers(api_version: &str, kind: &str) -> Option<FieldNumbers> {
    let fields = table().fields(table().message(table().kind(api_version, kind)?));
    let named = |name: &str| fields.iter().find(|field| field.name == name);
    let (metadata, items) = (named("metadata")?, named("items")?);
    let is_list = items.container == Container::List && matches!(items.kind, ValueKind::Message(_));
    is_list.then(|| FieldNumbers {
        metadata: metadata.number.into(),
        items: items.number.into(),
    })
}

#[cold]
fn longer_than_list() -> Error {
    Error::malformed("field exceeds the list")
}
