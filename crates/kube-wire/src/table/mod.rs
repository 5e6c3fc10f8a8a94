//! What Kubernetes' protobuf messages look like, and what their fields are called in JSON.
//!
//! `messages.txt` is the source, written by `cargo xtask tables`. It is read once, at first use, into three flat arrays
//! that refer to each other by position; names stay where they are in the text.

mod parse;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

/// The table of all messages.
pub(crate) fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| parse::parse(include_str!("messages.txt")))
}

/// How many messages are inlined in each other at most.
pub(crate) const INLINED: usize = 2;

/// All kinds, messages and fields.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Sorted by apiVersion and kind.
    kinds: Vec<(&'static str, &'static str, MessageId)>,
    /// Sorted by package and name.
    messages: Vec<Message>,
    /// Those of a message are together, sorted by number.
    fields: Vec<Field>,
}

/// The position of a kind in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KindId(u16);

/// The position of a message in the table, and what is asked for most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageId {
    position: u16,
    pub(crate) shape: Shape,
}

impl MessageId {
    /// How many messages come before it.
    #[inline]
    pub(crate) fn position(self) -> usize {
        self.position.into()
    }
}

/// A message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    package: &'static str,
    name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) first_field: u16,
    pub(crate) field_count: u16,
    /// The fields that JSON has also when they are not on the wire, a bit each by their position.
    pub(crate) always_printed: u64,
}

/// What a message is in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An object.
    Object,
    /// A list: that of its only field.
    List,
    /// A schema, or whether there may be anything.
    SchemaOrBool,
    /// A schema, or a list of schemas or of names.
    SchemaOrList,
}

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) number: u16,
    /// Its name in JSON.
    pub(crate) name: &'static str,
    pub(crate) container: Container,
    pub(crate) kind: Kind,
    /// Whether Go holds it by pointer, so that being there and being zero differ.
    pub(crate) pointer: bool,
    /// Whether its own fields are fields of the message's object in JSON.
    pub(crate) inline: bool,
    pub(crate) omitted: Omitted,
    /// How it becomes what JSON has: all of the above, decided once.
    pub(crate) way: Way,
    /// What it begins with on the wire: its number and its wire type.
    pub(crate) tag: u16,
    /// Whether one look is enough to read it.
    pub(crate) glance: Glance,
}

/// When JSON leaves a field out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Omitted {
    Never,
    /// When it is nil, or an empty list, map or string, or zero. Objects and times are never empty.
    WhenEmpty,
    /// When it is the zero time.
    WhenZeroTime,
}

/// How a field is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// One value, unless JSON leaves it out.
    One(LeftOut),
    Time(Omitted),
    /// Its own fields are the message's.
    Inline(MessageId),
    List,
    /// A list of values that may be packed together.
    Numbers,
    Map,
}

/// A field that holds one value, read with one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glance {
    /// It takes more.
    None,
    Bytes,
    /// Bytes that JSON leaves out when there are none.
    BytesOrNone,
    Number,
    /// A number that JSON leaves out when it is zero.
    NumberOrNone,
}

/// A value that is on the wire and that JSON leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftOut {
    Never,
    /// No text or no bytes.
    EmptyText,
    /// Zero in 64 bits, or what is not true.
    ZeroNumber,
    ZeroInt32,
    ZeroDouble,
    /// A message that is a list, without the field of this number.
    EmptyList(u16),
    EmptyJson,
}

/// How many values a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    /// At most one.
    One,
    /// A list.
    List,
    /// A map, its keys strings.
    Map,
}

/// What one value of a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Bool,
    Int32,
    Int64,
    Double,
    /// Base64 in JSON.
    Bytes,
    /// RFC 3339 in JSON, in seconds.
    Time,
    /// RFC 3339 in JSON, in microseconds.
    MicroTime,
    /// A string in JSON, a message with that string in protobuf.
    Quantity,
    IntOrString,
    /// Any JSON; a message with the text of it in protobuf.
    Json,
    Message(MessageId),
}

impl Table {
    /// The message of a kind.
    pub(crate) fn kind(&self, api_version: &str, kind: &str) -> Option<MessageId> {
        let found = self
            .own_kind(api_version, kind)
            .or_else(|| self.own_kind("*", kind));
        found.map(|kind| self.kind_at(kind).2)
    }

    /// A kind that is of this apiVersion only.
    pub(crate) fn own_kind(&self, api_version: &str, kind: &str) -> Option<KindId> {
        let found = self
            .kinds
            .binary_search_by(|(a, k, _)| (*a, *k).cmp(&(api_version, kind)));
        found.ok().and_then(|at| u16::try_from(at).ok()).map(KindId)
    }

    /// The apiVersion, kind and message of a kind that this table gave.
    pub(crate) fn kind_at(&self, kind: KindId) -> (&'static str, &'static str, MessageId) {
        self.kinds[usize::from(kind.0)]
    }

    /// The message with a full name, such as `k8s.io.api.core.v1.Pod`.
    pub(crate) fn message_named(&self, name: &str) -> Option<MessageId> {
        let (package, name) = name.rsplit_once('.')?;
        self.find(package, name)
    }

    fn find(&self, package: &str, name: &str) -> Option<MessageId> {
        let found = self
            .messages
            .binary_search_by(|message| (message.package, message.name).cmp(&(package, name)));
        self.id(u16::try_from(found.ok()?).ok()?)
    }

    /// All messages.
    pub(crate) fn ids(&self) -> impl Iterator<Item = MessageId> {
        (0..).map_while(|position| self.id(position))
    }

    fn id(&self, position: u16) -> Option<MessageId> {
        let shape = self.messages.get(usize::from(position))?.shape;
        Some(MessageId { position, shape })
    }

    /// The message at a position that this table gave.
    #[inline]
    pub(crate) fn message(&self, id: MessageId) -> &Message {
        &self.messages[id.position()]
    }

    /// The fields of a message, by number. There are at most 64.
    #[inline]
    pub(crate) fn fields(&self, message: &Message) -> &[Field] {
        let first = usize::from(message.first_field);
        &self.fields[first..first + usize::from(message.field_count)]
    }

    /// The fields of all messages, one message behind the other.
    pub(crate) fn all_fields(&self) -> &[Field] {
        &self.fields
    }

    fn way(&self, field: &Field) -> Way {
        match (field.container, field.kind) {
            (Container::One, Kind::Message(id)) if field.inline => Way::Inline(id),
            (Container::One, Kind::Time | Kind::MicroTime) => Way::Time(field.omitted),
            (Container::One, _) => Way::One(self.left_out(field)),
            (Container::List, Kind::Bool | Kind::Int32 | Kind::Int64) => Way::Numbers,
            (Container::List, _) => Way::List,
            (Container::Map, _) => Way::Map,
        }
    }

    /// What JSON leaves out of a field that holds one value.
    fn left_out(&self, field: &Field) -> LeftOut {
        match (field.omitted, field.kind) {
            (Omitted::WhenEmpty, _) if field.pointer => LeftOut::Never,
            (Omitted::WhenEmpty, Kind::String | Kind::Bytes) => LeftOut::EmptyText,
            (Omitted::WhenEmpty, Kind::Bool | Kind::Int64) => LeftOut::ZeroNumber,
            (Omitted::WhenEmpty, Kind::Int32) => LeftOut::ZeroInt32,
            (Omitted::WhenEmpty, Kind::Double) => LeftOut::ZeroDouble,
            (Omitted::WhenEmpty, Kind::Message(id)) if id.shape == Shape::List => {
                match self.fields(self.message(id)) {
                    [only] => LeftOut::EmptyList(only.number),
                    _ => LeftOut::Never,
                }
            }
            (Omitted::WhenZeroTime, Kind::Json) => LeftOut::EmptyJson,
            _ => LeftOut::Never,
        }
    }

    /// Whether JSON has the field although the wire does not.
    fn is_always_printed(&self, field: &Field) -> bool {
        if let (true, Kind::Message(id)) = (field.inline, field.kind) {
            let inlined = self.fields(self.message(id));
            return inlined.iter().any(|field| self.is_always_printed(field));
        }
        if field.is_nil_when_absent() {
            return field.omitted != Omitted::WhenEmpty;
        }
        match field.omitted {
            Omitted::Never => true,
            Omitted::WhenEmpty => !matches!(
                field.kind,
                Kind::String | Kind::Bool | Kind::Int32 | Kind::Int64 | Kind::Double
            ),
            Omitted::WhenZeroTime => !matches!(field.kind, Kind::Time | Kind::MicroTime | Kind::Json),
        }
    }
}

impl Field {
    /// Whether Go holds it in a way that can be nil.
    pub(crate) fn is_nil_when_absent(&self) -> bool {
        self.pointer
            || self.container != Container::One
            || match self.kind {
                Kind::Bytes => true,
                Kind::Message(id) => id.shape == Shape::List,
                _ => false,
            }
    }

    fn tag(&self) -> u16 {
        let wire_type = match self.kind {
            Kind::Bool | Kind::Int32 | Kind::Int64 => 0,
            Kind::Double => 1,
            _ => 2,
        };
        self.number << 3 | wire_type
    }

    fn glance(&self) -> Glance {
        match (self.kind, self.way) {
            (Kind::Double, _) => Glance::None,
            (Kind::Bool | Kind::Int32 | Kind::Int64, Way::One(left_out)) => match left_out {
                LeftOut::Never => Glance::Number,
                _ => Glance::NumberOrNone,
            },
            (_, Way::One(LeftOut::Never)) => Glance::Bytes,
            (_, Way::One(LeftOut::EmptyText)) => Glance::BytesOrNone,
            _ => Glance::None,
        }
    }
}

/// A field of a message and its position, looked for from a position on: fields come in order, mostly.
#[inline]
pub(crate) fn position(fields: &[Field], from: usize, number: u64) -> Option<(usize, &Field)> {
    let mut position = from;
    while let Some(field) = fields.get(position) {
        let found = u64::from(field.number);
        if found == number {
            return Some((position, field));
        }
        if found > number {
            break;
        }
        position += 1;
    }
    let search = fields.binary_search_by(|field| u64::from(field.number).cmp(&number));
    search.ok().map(|position| (position, &fields[position]))
}

#[cfg(test)]
impl Table {
    /// All kinds: apiVersion and kind.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.kinds
            .iter()
            .map(|(api_version, kind, _)| (*api_version, *kind))
    }

    /// The full names of all messages.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.messages.iter().map(|m| format!("{}.{}", m.package, m.name))
    }
}
