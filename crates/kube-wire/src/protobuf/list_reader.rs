//! Lists, read item by item as they come.

use std::fmt;

use bytes::Bytes;

use super::envelope::text;
use super::error::Reason;
use super::forms::string;
use super::incoming::Incoming;
use super::read::Fields;
use super::{Error, MAGIC};
use crate::length::Length;
use crate::table::{Container, Kind, table};

/// Reads a list while it comes. It holds what came last and at most one item.
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
/// let schema = Schema::of("v1", "ConfigMap").expect("Kubernetes has config maps");
///
/// let mut list = ListReader::new(1 << 20);
/// let mut names = Vec::new();
/// for piece in body.chunks(10) {
///     list.push(Bytes::copy_from_slice(piece));
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
    incoming: Incoming,
    limit: usize,
    place: Place,
    head: Head,
    /// Which fields of the list are its metadata and its items; none until its kind is known.
    numbers: Option<Numbers>,
    /// The bytes of the list that are still to come.
    list_left: u64,
    /// Whether the field that comes is one of the list, not of its envelope.
    is_in_list: bool,
    has_list: bool,
    meta: ListMeta,
}

/// What comes out of a list.
///
/// Given by a [`ListReader`].
#[derive(Clone, PartialEq, Eq)]
pub enum ListEvent {
    /// What the list is; comes first, and once.
    Head {
        /// The list's apiVersion.
        api_version: String,
        /// The list's kind, such as `PodList`.
        kind: String,
    },
    /// An item: its message, without an envelope. If it came in one piece it is a slice of it, so that whoever keeps a
    /// small part of it should copy that part.
    Item(Bytes),
}

/// What a list says of itself.
///
/// What a [`ListReader`] has read at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListMeta {
    /// The version of the collection that the list shows.
    pub resource_version: String,
    /// What gets the next page; empty if this is the last.
    pub continue_token: String,
    /// How many items there are after this page, if the server says it.
    pub remaining: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
struct Numbers {
    metadata: u64,
    items: u64,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Place {
    Magic,
    /// The head of a field.
    Head,
    /// The content of a field that is wanted.
    Content(Wanted, usize),
    /// The content of a field that nobody wants.
    Unwanted(usize),
}

#[derive(Clone, Copy, Debug)]
enum Wanted {
    Type,
    Metadata,
    Item,
}

/// The head of a field, which may come byte by byte: a tag, then a length or a number.
#[derive(Debug, Default)]
struct Head {
    tag: Varint,
    after: Varint,
}

#[derive(Debug, Default)]
struct Varint {
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

impl Varint {
    fn add(&mut self, byte: u8) -> Result<(), Error> {
        if self.len == 10 {
            return Err(Error::malformed("a number is too long"));
        }
        self.value |= u64::from(byte & 0x7f) << (7 * self.len);
        self.len += 1;
        self.is_whole = byte < 0x80;
        Ok(())
    }
}

impl ListReader {
    /// A reader of lists whose items are each not longer than `limit`.
    pub fn new(limit: usize) -> Self {
        Self {
            incoming: Incoming::default(),
            limit,
            place: Place::Magic,
            head: Head::default(),
            numbers: None,
            list_left: 0,
            is_in_list: false,
            has_list: false,
            meta: ListMeta::default(),
        }
    }

    /// Takes what has come. Before the next piece, [`next`](Self::next) should have given all that is in this one.
    pub fn push(&mut self, piece: Bytes) {
        self.incoming.push(piece);
    }

    /// What comes next; none until more has come.
    ///
    /// After an error there is nothing more to be had from this list. [An unknown kind](Error::is_unknown_kind) is also
    /// one that is no list of objects.
    #[expect(clippy::should_implement_trait, reason = "after none there can be more")]
    pub fn next(&mut self) -> Result<Option<ListEvent>, Error> {
        loop {
            match self.place {
                Place::Magic => {
                    let Some(magic) = self.incoming.take(MAGIC.len()) else {
                        return Ok(None);
                    };
                    if magic != MAGIC {
                        return Err(Reason::NotProtobuf.into());
                    }
                    self.place = Place::Head;
                }
                Place::Head => {
                    if !self.read_head()? {
                        return Ok(None);
                    }
                }
                Place::Unwanted(left) => {
                    let dropped = self.incoming.drop_up_to(left);
                    if dropped < left {
                        self.place = Place::Unwanted(left - dropped);
                        return Ok(None);
                    }
                    self.place = Place::Head;
                }
                Place::Content(wanted, len) => {
                    let Some(content) = self.incoming.take(len) else {
                        return Ok(None);
                    };
                    self.place = Place::Head;
                    match wanted {
                        Wanted::Type => return self.read_type(&content).map(Some),
                        Wanted::Metadata => self.read_metadata(&content)?,
                        Wanted::Item => return Ok(Some(ListEvent::Item(content))),
                    }
                }
            }
        }
    }

    /// What the list says of itself, after its last piece was pushed and read.
    ///
    /// It is [cut off](Error::is_cut_off) if its end has not come.
    pub fn finish(self) -> Result<ListMeta, Error> {
        let is_whole = matches!(self.place, Place::Head) && self.head.tag.len == 0 && self.list_left == 0;
        if is_whole && self.has_list && self.incoming.is_empty() {
            Ok(self.meta)
        } else {
            Err(Reason::CutOff.into())
        }
    }

    /// Reads the head of a field and decides what comes next; false if it has not wholly come.
    fn read_head(&mut self) -> Result<bool, Error> {
        if self.head.tag.len == 0 {
            self.is_in_list = self.list_left > 0;
        }
        let is_in_list = self.is_in_list;
        loop {
            let wire_type = self.head.tag.value & 7;
            if self.head.tag.is_whole && (self.head.after.is_whole || matches!(wire_type, 1 | 5)) {
                break;
            }
            let Some(byte) = self.incoming.byte() else {
                return Ok(false);
            };
            if is_in_list {
                let left = self.list_left.checked_sub(1);
                self.list_left = left.ok_or_else(longer_than_list)?;
            }
            if self.head.tag.is_whole {
                self.head.after.add(byte)?;
            } else {
                self.head.tag.add(byte)?;
            }
        }
        let Head { tag, after } = std::mem::take(&mut self.head);
        let len = match tag.value & 7 {
            0 => 0,
            1 => 8,
            2 => after.value,
            5 => 4,
            _ => return Err(Error::malformed("a field has an unknown wire type")),
        };
        if is_in_list {
            self.list_left = self.list_left.checked_sub(len).ok_or_else(longer_than_list)?;
        }
        let is_message = tag.value & 7 == 2;
        let wanted = match (tag.value >> 3, self.numbers) {
            (0, _) => return Err(Error::malformed("a field has the number zero")),
            (number, Some(numbers)) if is_in_list && is_message && number == numbers.items => {
                Some(Wanted::Item)
            }
            (number, Some(numbers)) if is_in_list && is_message && number == numbers.metadata => {
                Some(Wanted::Metadata)
            }
            _ if is_in_list => None,
            (1, None) if is_message => Some(Wanted::Type),
            (1, Some(_)) => return Err(Error::malformed("the envelope has two types")),
            (2, Some(_)) if is_message && !self.has_list => {
                self.has_list = true;
                self.list_left = len;
                return Ok(true);
            }
            (2, Some(_)) => return Err(Error::malformed("the envelope has two objects")),
            (2, None) => return Err(Error::malformed("the object comes before its type")),
            _ => None,
        };
        let len = usize::try_from(len).map_err(|_| Reason::TooLarge)?;
        self.place = match wanted {
            Some(_) if len > self.limit => return Err(Reason::TooLarge.into()),
            Some(wanted) => Place::Content(wanted, len),
            None => Place::Unwanted(len),
        };
        Ok(true)
    }

    fn read_type(&mut self, message: &[u8]) -> Result<ListEvent, Error> {
        let (mut api_version, mut kind) = ("", "");
        let mut fields = Fields::of(message);
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
        let mut fields = Fields::of(message);
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

fn numbers(api_version: &str, kind: &str) -> Option<Numbers> {
    let fields = table().fields(table().message(table().kind(api_version, kind)?));
    let named = |name: &str| fields.iter().find(|field| field.name == name);
    let (metadata, items) = (named("metadata")?, named("items")?);
    let is_list = items.container == Container::List && matches!(items.kind, Kind::Message(_));
    is_list.then(|| Numbers {
        metadata: metadata.number.into(),
        items: items.number.into(),
    })
}

#[cold]
fn longer_than_list() -> Error {
    Error::malformed("a field is longer than what it is in")
}
