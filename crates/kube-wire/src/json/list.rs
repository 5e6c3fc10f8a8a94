//! A list, item by item, while it arrives.

use std::fmt;

use bytes::{Buf as _, Bytes, BytesMut};

use super::Error;
use super::cursor::{Cursor, is_space};
use super::lines::append;
use super::once::Once;
use super::scan::{Scanner, ends_word};
use crate::length::Length;

/// Cuts a list into its items, however the bytes arrive.
///
/// It holds one item and the piece that came last, never more. An item that came in one piece shares its memory, so
/// whoever keeps items for long had better copy them; one that came in several is put together.
///
/// Items are not looked at: what they are is found by reading them. Fields that lists of objects do not have are passed
/// over.
///
/// ```
/// use bytes::Bytes;
/// use kube_wire::json::{Items, ListReader};
///
/// let mut list = ListReader::new(1 << 20);
/// list.push(Bytes::from_static(br#"{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[{"a":1},{"#));
/// assert_eq!(list.next_item()?.as_deref(), Some(&br#"{"a":1}"#[..]));
/// assert_eq!(list.next_item()?, None, "more has to come");
/// assert_eq!(list.so_far().kind.as_deref(), Some("PodList"));
///
/// list.push(Bytes::from_static(br#""b":2}]}"#));
/// assert_eq!(list.next_item()?.as_deref(), Some(&br#"{"b":2}"#[..]));
/// assert_eq!(list.next_item()?, None);
/// assert_eq!(list.finish()?.items, Items::There(2));
/// # Ok::<(), kube_wire::json::Error>(())
/// ```
pub struct ListReader {
    limit: usize,
    /// What came last and has not been read.
    piece: Bytes,
    /// The beginning of what is being read, which came before the piece.
    begun: BytesMut,
    /// How many bytes have been read.
    offset: usize,
    once: Once,
    next: Next,
    head: ListHead,
}

/// What a list says of itself, beside its items.
///
/// What a [`ListReader`] has read at the end.
#[doc(alias = "ListMeta")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListHead {
    /// `apiVersion`, unless it is missing or `null`.
    pub api_version: Option<String>,
    /// `kind`, unless it is missing or `null`.
    pub kind: Option<String>,
    /// `metadata.resourceVersion`, unless it is missing or `null`.
    pub resource_version: Option<String>,
    /// `metadata.continue`, unless it is missing or `null`.
    pub continue_token: Option<String>,
    /// `metadata.remainingItemCount`, if it is a number.
    pub remaining_item_count: Option<i64>,
    /// The field `items`.
    pub items: Items,
}

/// The field `items` of a list.
///
/// Part of a [`ListHead`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Items {
    /// There is none: it is no list, or not a whole one.
    #[default]
    Missing,
    /// Go writes an empty list so.
    Null,
    /// As many as have been read.
    There(usize),
}

/// What is to be read next.
#[derive(Clone, Debug)]
enum Next {
    List,
    FirstName,
    Colon(Field),
    Value(Field),
    /// The rest of a value, which began so many bytes after the list's beginning.
    Rest(What, Scanner, usize),
    CommaOrEnd,
    Name,
    FirstItem,
    Item,
    ItemsCommaOrEnd,
    Nothing,
    /// It failed before.
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    ApiVersion,
    Kind,
    Metadata,
    Items,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Name,
    Value(Field),
    Item,
}

impl fmt::Debug for ListReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListReader")
            .field("limit", &self.limit)
            .field("piece", &Length(self.piece.len()))
            .field("begun", &Length(self.begun.len()))
            .field("offset", &self.offset)
            .field("once", &self.once)
            .field("next", &self.next)
            .field("head", &self.head)
            .finish()
    }
}

impl ListReader {
    /// For a list none of whose items is longer than `limit` bytes.
    pub fn new(limit: usize) -> ListReader {
        ListReader {
            limit,
            piece: Bytes::new(),
            begun: BytesMut::new(),
            offset: 0,
            once: Once::LIST,
            next: Next::List,
            head: ListHead::default(),
        }
    }

    /// Takes the next piece of the body. It is copied if the piece before it has items that have not been asked for.
    pub fn push(&mut self, piece: Bytes) {
        append(&mut self.piece, piece);
    }

    /// What has been read of the head. Kubernetes writes it before the items of its own kinds, and partly after those of
    /// custom resources.
    pub fn so_far(&self) -> &ListHead {
        &self.head
    }

    /// The text of the next item, as soon as all of it has come.
    ///
    /// # Errors
    /// It is no list; an item is longer than it may be, whether or not its end has come.
    pub fn next_item(&mut self) -> Result<Option<Bytes>, Error> {
        if let Next::Failed = self.next {
            return Err(self.expected(self.next.wanted()));
        }
        let read = self.read();
        if read.is_err() {
            self.next = Next::Failed;
        }
        read
    }

    /// The head, when the body has ended and all items have been asked for.
    ///
    /// # Errors
    /// The list is not whole.
    pub fn finish(mut self) -> Result<ListHead, Error> {
        if self.next_item()?.is_some() {
            return Err(self.expected("every item to be read before the end"));
        }
        match self.next {
            Next::Nothing => Ok(self.head),
            _ => Err(Error::cut_short(self.offset).at(self.path())),
        }
    }

    fn read(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            if let Next::Rest(what, ..) = self.next {
                let Some(text) = self.rest()? else {
                    return Ok(None);
                };
                if what == What::Item {
                    return Ok(Some(text));
                }
                continue;
            }
            let spaces = self.piece.iter().take_while(|byte| is_space(**byte)).count();
            self.pass(spaces);
            let Some(byte) = self.piece.first().copied() else {
                return Ok(None);
            };
            self.step(byte)?;
        }
    }

    /// One byte that is not white space, of what is between the values.
    fn step(&mut self, byte: u8) -> Result<(), Error> {
        let (len, next) = match (&self.next, byte) {
            (Next::List, b'{') => (1, Next::FirstName),
            (Next::FirstName | Next::CommaOrEnd, b'}') => (1, Next::Nothing),
            (Next::FirstName | Next::Name, b'"') => (0, self.value(What::Name, byte)),
            (Next::Colon(field), b':') => (1, Next::Value(*field)),
            (Next::Value(Field::Items), b'[') => {
                self.head.items = Items::There(0);
                (1, Next::FirstItem)
            }
            (Next::Value(Field::Items), first) if first != b'n' => return Err(self.expected("a list")),
            (Next::Value(field), first) if begins_value(first) => (0, self.value(What::Value(*field), first)),
            (Next::CommaOrEnd, b',') => (1, Next::Name),
            (Next::FirstItem | Next::ItemsCommaOrEnd, b']') => (1, Next::CommaOrEnd),
            (Next::FirstItem | Next::Item, first) if begins_value(first) => {
                (0, self.value(What::Item, first))
            }
            (Next::ItemsCommaOrEnd, b',') => (1, Next::Item),
            _ => return Err(self.expected(self.next.wanted())),
        };
        self.pass(len);
        self.next = next;
        Ok(())
    }

    fn value(&self, what: What, first: u8) -> Next {
        Next::Rest(what, Scanner::at(first), self.offset)
    }

    /// Reads on in a value. Gives its text when it is whole; nothing of one that nobody wants.
    fn rest(&mut self) -> Result<Option<Bytes>, Error> {
        let Next::Rest(what, scanner, start) = &mut self.next else {
            return Ok(None);
        };
        let (what, start) = (*what, *start);
        let end = scanner.end(&self.piece);
        let len = end.unwrap_or(self.piece.len());
        let is_wanted = what != What::Value(Field::Other);
        if is_wanted && self.begun.len() + len > self.limit {
            return Err(Error::too_long(self.limit, start).at(self.path()));
        }
        let part = self.piece.split_to(len);
        self.offset += len;
        if is_wanted && (end.is_none() || !self.begun.is_empty()) {
            self.begun.extend_from_slice(&part);
        }
        if end.is_none() {
            return Ok(None);
        }
        let text = if self.begun.is_empty() {
            part
        } else {
            self.begun.split().freeze()
        };
        self.next = self
            .whole(what, &text)
            .map_err(|error| error.after(start).at(self.path()))?;
        Ok(Some(text))
    }

    /// Takes a value that is whole, and says what is next.
    fn whole(&mut self, what: What, text: &[u8]) -> Result<Next, Error> {
        let mut cursor = Cursor::new(text);
        let field = match what {
            What::Item => {
                if let Items::There(count) = &mut self.head.items {
                    *count += 1;
                }
                return Ok(Next::ItemsCommaOrEnd);
            }
            What::Name => {
                let name = cursor.string()?;
                let known = self
                    .once
                    .see(|known| name.is(known))
                    .map_err(|_| Error::twice(0))?;
                return Ok(Next::Colon(Field::named(known)));
            }
            What::Value(field) => field,
        };
        match field {
            Field::ApiVersion => self.head.api_version = string(&mut cursor)?,
            Field::Kind => self.head.kind = string(&mut cursor)?,
            Field::Metadata => self.head.read_metadata(&mut cursor)?,
            Field::Items if cursor.take_null()? => self.head.items = Items::Null,
            Field::Items => return Err(Error::expected("a list", 0)),
            Field::Other => return Ok(Next::CommaOrEnd),
        }
        cursor.end()?;
        Ok(Next::CommaOrEnd)
    }

    fn pass(&mut self, len: usize) {
        self.piece.advance(len);
        self.offset += len;
    }

    fn expected(&self, what: &'static str) -> Error {
        Error::expected(what, self.offset).at(self.path())
    }

    fn path(&self) -> String {
        let field = match &self.next {
            Next::Rest(What::Item, ..) | Next::FirstItem | Next::Item => {
                let count = match self.head.items {
                    Items::There(count) => count,
                    Items::Missing | Items::Null => 0,
                };
                return format!("items[{count}]");
            }
            Next::ItemsCommaOrEnd => Field::Items,
            Next::Colon(field) | Next::Value(field) | Next::Rest(What::Value(field), ..) => *field,
            _ => Field::Other,
        };
        field.name().to_owned()
    }
}

impl Field {
    fn named(name: Option<&'static str>) -> Field {
        match name {
            Some("apiVersion") => Field::ApiVersion,
            Some("kind") => Field::Kind,
            Some("metadata") => Field::Metadata,
            Some("items") => Field::Items,
            _ => Field::Other,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Field::ApiVersion => "apiVersion",
            Field::Kind => "kind",
            Field::Metadata => "metadata",
            Field::Items => "items",
            Field::Other => "",
        }
    }
}

impl Next {
    fn wanted(&self) -> &'static str {
        match self {
            Next::List => "a list",
            Next::FirstName | Next::Name => "a field's name",
            Next::Colon(_) => "a colon",
            Next::Value(_) | Next::Item | Next::FirstItem | Next::Rest(..) => "a value",
            Next::CommaOrEnd | Next::ItemsCommaOrEnd => "a comma or the end",
            Next::Nothing => "the end",
            Next::Failed => "nothing more of a list that is broken",
        }
    }
}

impl ListHead {
    fn read_metadata(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        if cursor.take_null()? {
            return Ok(());
        }
        let mut fields = cursor.fields()?;
        let mut once = Once::LIST_METADATA;
        while let Some(name) = cursor.field(&mut fields)? {
            match once
                .see(|known| name.is(known))
                .map_err(|_| Error::twice(name.offset()))?
            {
                Some("resourceVersion") => self.resource_version = string(cursor)?,
                Some("continue") => self.continue_token = string(cursor)?,
                Some("remainingItemCount") => {
                    let number = std::str::from_utf8(cursor.value()?).unwrap_or_default();
                    self.remaining_item_count = number.parse().ok();
                }
                _ => {
                    cursor.value()?;
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

/// Whether a value can begin so; that it is one is found by reading it.
fn begins_value(byte: u8) -> bool {
    matches!(byte, b'"' | b'{' | b'[') || !ends_word(byte)
}
