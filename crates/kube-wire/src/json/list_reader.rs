//! An incremental reader for lists.

use std::fmt;

use bytes::{Buf as _, Bytes, BytesMut};

use super::Error;
use super::cursor::{Cursor, is_space};
use super::duplicate_check::DuplicateCheck;
use super::scanner::{Scanner, ends_word};
use crate::chunk::append_chunk;
use crate::length::Length;

/// Splits a list into its items, independently of how it is split into chunks.
///
/// Keeps at most one item and the last chunk in memory. An item within one chunk shares its memory, so copy items
/// that are kept for long; an item that spans chunks is copied.
///
/// Items are not validated. Fields that lists of objects do not have are skipped.
///
/// # Examples
///
/// ```
/// use bytes::Bytes;
/// use kube_wire::json::{Items, ListReader};
///
/// let mut list = ListReader::new(1 << 20);
/// list.push(Bytes::from_static(br#"{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[{"a":1},{"#));
/// assert_eq!(list.next_item()?.as_deref(), Some(&br#"{"a":1}"#[..]));
/// assert_eq!(list.next_item()?, None, "the item is incomplete");
/// assert_eq!(list.head().kind.as_deref(), Some("PodList"));
///
/// list.push(Bytes::from_static(br#""b":2}]}"#));
/// assert_eq!(list.next_item()?.as_deref(), Some(&br#"{"b":2}"#[..]));
/// assert_eq!(list.next_item()?, None);
/// assert_eq!(list.finish()?.items, Items::Count(2));
/// # Ok::<(), kube_wire::json::Error>(())
/// ```
pub struct ListReader {
    limit: usize,
    /// The unread part of the last chunk.
    chunk: Bytes,
    /// The start of the current value, from earlier chunks.
    partial: BytesMut,
    /// Number of bytes consumed.
    offset: usize,
    duplicates: DuplicateCheck,
    state: JsonListState,
    head: ListHead,
}

/// Type and metadata of a list.
///
/// Returned by [`ListReader::finish`].
#[doc(alias = "ListMeta")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListHead {
    /// `apiVersion`, or `None` if it is missing or `null`.
    pub api_version: Option<String>,
    /// `kind`, or `None` if it is missing or `null`.
    pub kind: Option<String>,
    /// `metadata.resourceVersion`, or `None` if it is missing or `null`.
    pub resource_version: Option<String>,
    /// `metadata.continue`, or `None` if it is missing or `null`.
    pub continue_token: Option<String>,
    /// `metadata.remainingItemCount`, if it is a number.
    pub remaining_item_count: Option<i64>,
    /// The state of the field `items`.
    pub items: Items,
}

/// The state of the field `items` of a list.
///
/// Part of a [`ListHead`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Items {
    /// The field is missing: the text is not a list, or not a complete one.
    #[default]
    Missing,
    /// The field is `null`, as Go writes an empty list.
    Null,
    /// Number of items that were read.
    Count(usize),
}

/// The next part of the grammar.
#[derive(Clone, Debug)]
enum JsonListState {
    Start,
    FirstName,
    Colon(ListField),
    Value(ListField),
    /// Inside a value, with the offset at which it starts.
    Partial(ValueRole, Scanner, usize),
    CommaOrEnd,
    Name,
    FirstItem,
    Item,
    ItemsCommaOrEnd,
    End,
    /// An earlier call returned an error.
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListField {
    ApiVersion,
    Kind,
    Metadata,
    Items,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueRole {
    Name,
    Value(ListField),
    Item,
}

impl fmt::Debug for ListReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListReader")
            .field("limit", &self.limit)
            .field("chunk", &Length(self.chunk.len()))
            .field("partial", &Length(self.partial.len()))
            .field("offset", &self.offset)
            .field("duplicates", &self.duplicates)
            .field("state", &self.state)
            .field("head", &self.head)
            .finish()
    }
}

impl ListReader {
    /// Creates a reader for lists whose items have at most `limit` bytes each.
    pub fn new(limit: usize) -> ListReader {
        ListReader {
            limit,
            chunk: Bytes::new(),
            partial: BytesMut::new(),
            offset: 0,
            duplicates: DuplicateCheck::LIST,
            state: JsonListState::Start,
            head: ListHead::default(),
        }
    }

    /// Appends a chunk of the body. Copies it if items of the previous chunk are still unread.
    pub fn push(&mut self, chunk: Bytes) {
        append_chunk(&mut self.chunk, chunk);
    }

    /// Returns what was read of the list's type and metadata. Kubernetes writes them before the items for built-in
    /// kinds, and partly after the items for custom resources.
    pub fn head(&self) -> &ListHead {
        &self.head
    }

    /// Returns the text of the next item, or `None` until it is complete.
    ///
    /// # Errors
    /// Returns an error if the text is not a list, or if an item exceeds the limit, even before its end was received.
    pub fn next_item(&mut self) -> Result<Option<Bytes>, Error> {
        if let JsonListState::Failed = self.state {
            return Err(self.expected(self.state.expectation()));
        }
        let read = self.read();
        if read.is_err() {
            self.state = JsonListState::Failed;
        }
        read
    }

    /// Returns type and metadata of the list, when the body has ended and all items were read.
    ///
    /// # Errors
    /// Returns an error if the list is incomplete or items are unread.
    pub fn finish(mut self) -> Result<ListHead, Error> {
        if self.next_item()?.is_some() {
            return Err(self.expected("all items to be read before the end"));
        }
        match self.state {
            JsonListState::End => Ok(self.head),
            _ => Err(Error::unexpected_eof(self.offset).with_path(self.path())),
        }
    }

    fn read(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            if let JsonListState::Partial(role, ..) = self.state {
                let Some(text) = self.rest()? else {
                    return Ok(None);
                };
                if role == ValueRole::Item {
                    return Ok(Some(text));
                }
                continue;
            }
            let spaces = self.chunk.iter().take_while(|byte| is_space(**byte)).count();
            self.skip(spaces);
            let Some(byte) = self.chunk.first().copied() else {
                return Ok(None);
            };
            self.step(byte)?;
        }
    }

    /// Handles one byte between values. The byte is not white space.
    fn step(&mut self, byte: u8) -> Result<(), Error> {
        let (len, next) = match (&self.state, byte) {
            (JsonListState::Start, b'{') => (1, JsonListState::FirstName),
            (JsonListState::FirstName | JsonListState::CommaOrEnd, b'}') => (1, JsonListState::End),
            (JsonListState::FirstName | JsonListState::Name, b'"') => (0, self.value(ValueRole::Name, byte)),
            (JsonListState::Colon(field), b':') => (1, JsonListState::Value(*field)),
            (JsonListState::Value(ListField::Items), b'[') => {
                self.head.items = Items::Count(0);
                (1, JsonListState::FirstItem)
            }
            (JsonListState::Value(ListField::Items), first) if first != b'n' => {
                return Err(self.expected("a list"));
            }
            (JsonListState::Value(field), first) if begins_value(first) => {
                (0, self.value(ValueRole::Value(*field), first))
            }
            (JsonListState::CommaOrEnd, b',') => (1, JsonListState::Name),
            (JsonListState::FirstItem | JsonListState::ItemsCommaOrEnd, b']') => {
                (1, JsonListState::CommaOrEnd)
            }
            (JsonListState::FirstItem | JsonListState::Item, first) if begins_value(first) => {
                (0, self.value(ValueRole::Item, first))
            }
            (JsonListState::ItemsCommaOrEnd, b',') => (1, JsonListState::Item),
            _ => return Err(self.expected(self.state.expectation())),
        };
        self.skip(len);
        self.state = next;
        Ok(())
    }

    fn value(&self, role: ValueRole, first: u8) -> JsonListState {
        JsonListState::Partial(role, Scanner::at(first), self.offset)
    }

    /// Continues a value. Returns its text when it is complete; text of ignored fields may be incomplete.
    fn rest(&mut self) -> Result<Option<Bytes>, Error> {
        let JsonListState::Partial(role, scanner, start) = &mut self.state else {
            return Ok(None);
        };
        let (role, start) = (*role, *start);
        let end = scanner.end(&self.chunk);
        let len = end.unwrap_or(self.chunk.len());
        let is_buffered = role != ValueRole::Value(ListField::Other);
        if is_buffered && self.partial.len() + len > self.limit {
            return Err(Error::too_long(self.limit, start).with_path(self.path()));
        }
        let part = self.chunk.split_to(len);
        self.offset += len;
        if is_buffered && (end.is_none() || !self.partial.is_empty()) {
            self.partial.extend_from_slice(&part);
        }
        if end.is_none() {
            return Ok(None);
        }
        let text = if self.partial.is_empty() {
            part
        } else {
            self.partial.split().freeze()
        };
        self.state = self
            .finish_value(role, &text)
            .map_err(|error| error.offset_by(start).with_path(self.path()))?;
        Ok(Some(text))
    }

    /// Processes a complete value and returns the next state.
    fn finish_value(&mut self, role: ValueRole, text: &[u8]) -> Result<JsonListState, Error> {
        let mut cursor = Cursor::new(text);
        let field = match role {
            ValueRole::Item => {
                if let Items::Count(count) = &mut self.head.items {
                    *count += 1;
                }
                return Ok(JsonListState::ItemsCommaOrEnd);
            }
            ValueRole::Name => {
                let name = cursor.string()?;
                let known = self
                    .duplicates
                    .record(|known| name.equals(known))
                    .map_err(|_| Error::duplicate_field(0))?;
                return Ok(JsonListState::Colon(ListField::from_name(known)));
            }
            ValueRole::Value(field) => field,
        };
        match field {
            ListField::ApiVersion => self.head.api_version = string(&mut cursor)?,
            ListField::Kind => self.head.kind = string(&mut cursor)?,
            ListField::Metadata => self.head.read_metadata(&mut cursor)?,
            ListField::Items if cursor.take_null()? => self.head.items = Items::Null,
            ListField::Items => return Err(Error::expected("a list", 0)),
            ListField::Other => return Ok(JsonListState::CommaOrEnd),
        }
        cursor.expect_end()?;
        Ok(JsonListState::CommaOrEnd)
    }

    fn skip(&mut self, len: usize) {
        self.chunk.advance(len);
        self.offset += len;
    }

    fn expected(&self, expected: &'static str) -> Error {
        Error::expected(expected, self.offset).with_path(self.path())
    }

    fn path(&self) -> String {
        let field = match &self.state {
            JsonListState::Partial(ValueRole::Item, ..) | JsonListState::FirstItem | JsonListState::Item => {
                let count = match self.head.items {
                    Items::Count(count) => count,
                    Items::Missing | Items::Null => 0,
                };
                return format!("items[{count}]");
            }
            JsonListState::ItemsCommaOrEnd => ListField::Items,
            JsonListState::Colon(field)
            | JsonListState::Value(field)
            | JsonListState::Partial(ValueRole::Value(field), ..) => *field,
            _ => ListField::Other,
        };
        field.name().to_owned()
    }
}

impl ListField {
    fn from_name(name: Option<&'static str>) -> ListField {
        match name {
            Some("apiVersion") => ListField::ApiVersion,
            Some("kind") => ListField::Kind,
            Some("metadata") => ListField::Metadata,
            Some("items") => ListField::Items,
            _ => ListField::Other,
        }
    }

    fn name(self) -> &'static str {
        match self {
            ListField::ApiVersion => "apiVersion",
            ListField::Kind => "kind",
            ListField::Metadata => "metadata",
            ListField::Items => "items",
            ListField::Other => "",
        }
    }
}

impl JsonListState {
    fn expectation(&self) -> &'static str {
        match self {
            JsonListState::Start => "a list",
            JsonListState::FirstName | JsonListState::Name => "a field name",
            JsonListState::Colon(_) => "a colon",
            JsonListState::Value(_)
            | JsonListState::Item
            | JsonListState::FirstItem
            | JsonListState::Partial(..) => "a value",
            JsonListState::CommaOrEnd | JsonListState::ItemsCommaOrEnd => "a comma or a closing bracket",
            JsonListState::End => "end of input",
            JsonListState::Failed => "no more calls after an error",
        }
    }
}

impl ListHead {
    fn read_metadata(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        if cursor.take_null()? {
            return Ok(());
        }
        let mut fields = cursor.enter_object()?;
        let mut duplicates = DuplicateCheck::LIST_METADATA;
        while let Some(name) = cursor.next_field(&mut fields)? {
            match duplicates
                .record(|known| name.equals(known))
                .map_err(|_| Error::duplicate_field(name.offset()))?
            {
                Some("resourceVersion") => self.resource_version = string(cursor)?,
                Some("continue") => self.continue_token = string(cursor)?,
                Some("remainingItemCount") => {
                    let number = std::str::from_utf8(cursor.skip_value()?).unwrap_or_default();
                    self.remaining_item_count = number.parse().ok();
                }
                _ => {
                    cursor.skip_value()?;
                }
            }
        }
        Ok(())
    }
}

fn string(cursor: &mut Cursor<'_>) -> Result<Option<String>, Error> {
    match cursor.string_or_null()? {
        Some(string) => Ok(Some(string.text()?.into_owned())),
        None => Ok(None),
    }
}

/// Returns whether a value can start with this byte.
fn begins_value(byte: u8) -> bool {
    matches!(byte, b'"' | b'{' | b'[') || !ends_word(byte)
}
