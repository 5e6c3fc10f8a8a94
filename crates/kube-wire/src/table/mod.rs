//! The schemas of Kubernetes' protobuf messages and the JSON names of their fields.
//!
//! `cargo xtask tables` writes `messages.txt`. It is parsed once, at first use, into three arrays that refer to each
//! other by position. Names are slices of the text.

mod parse;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

/// Returns the table of all messages.
pub(crate) fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| parse::parse(include_str!("messages.txt")))
}

/// Maximum number of messages inlined in each other.
pub(crate) const MAX_INLINE_DEPTH: usize = 2;

/// All kinds, messages and fields.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Sorted by apiVersion and kind.
    kinds: Vec<(&'static str, &'static str, MessageId)>,
    /// Sorted by package and name.
    messages: Vec<MessageDescriptor>,
    /// Grouped by message, sorted by number.
    fields: Vec<FieldDescriptor>,
}

/// The position of a kind in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KindId(u16);

/// The position of a message in the table, and its shape, which is read most often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageId {
    position: u16,
    pub(crate) shape: Shape,
}

impl MessageId {
    /// Returns the index of the message.
    #[inline]
    pub(crate) fn position(self) -> usize {
        self.position.into()
    }
}

/// A message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageDescriptor {
    package: &'static str,
    name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) first_field: u16,
    pub(crate) field_count: u16,
    /// Fields that JSON contains even if the message does not. Bits are field positions.
    pub(crate) always_printed: u64,
}

/// The JSON representation of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A JSON object.
    Object,
    /// The list that its only field contains.
    List,
    /// A schema or a boolean.
    SchemaOrBool,
    /// A schema, or a list of schemas or names.
    SchemaOrList,
}

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldDescriptor {
    pub(crate) number: u16,
    /// Name in JSON.
    pub(crate) name: &'static str,
    pub(crate) container: Container,
    pub(crate) kind: ValueKind,
    /// Whether the Go field is a pointer, which distinguishes an absent value from a zero value.
    pub(crate) pointer: bool,
    /// Whether JSON contains the fields of this message in the parent object.
    pub(crate) inline: bool,
    pub(crate) omit_rule: OmitRule,
    /// How to read the field, derived from the properties above.
    pub(crate) read_method: ReadMethod,
    /// Field number and wire type, as encoded before the content.
    pub(crate) tag: u16,
    /// How to read the field in the common case.
    pub(crate) fast_path: FastPath,
}

/// When JSON omits a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OmitRule {
    Never,
    /// If it is nil, zero, or an empty list, map or string. Objects and times are never empty.
    WhenEmpty,
    /// If it is the zero time.
    WhenZeroTime,
}

/// How a field is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadMethod {
    /// A single value, unless JSON omits it.
    Single(OmittedValue),
    Time(OmitRule),
    /// A message whose fields belong to the parent object.
    Inline(MessageId),
    List,
    /// A list of numbers, which may be packed.
    Numbers,
    Map,
}

/// How a field with a single value is read in the common case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FastPath {
    /// The field needs the general code path.
    None,
    Bytes,
    /// Bytes that JSON omits if they are empty.
    BytesOrNone,
    Number,
    /// A number that JSON omits if it is zero.
    NumberOrNone,
}

/// A value that the wire may contain and JSON omits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OmittedValue {
    None,
    /// An empty string or empty bytes.
    EmptyText,
    /// Zero in 64 bits, or `false`.
    ZeroNumber,
    ZeroInt32,
    ZeroDouble,
    /// A message of shape `List` without the field of this number.
    EmptyList(u16),
    EmptyJson,
}

/// The number of values in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    /// At most one value.
    Single,
    /// A list.
    List,
    /// A map with string keys.
    Map,
}

/// The type of a single value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    String,
    Bool,
    Int32,
    Int64,
    Double,
    /// Base64 in JSON.
    Bytes,
    /// RFC 3339 with seconds in JSON.
    Time,
    /// RFC 3339 with microseconds in JSON.
    MicroTime,
    /// A string in JSON, a message that contains the string in protobuf.
    Quantity,
    IntOrString,
    /// Any JSON value; in protobuf a message that contains its text.
    Json,
    Message(MessageId),
}

impl Table {
    /// Returns the message of a kind.
    pub(crate) fn kind(&self, api_version: &str, kind: &str) -> Option<MessageId> {
        let found = self
            .own_kind(api_version, kind)
            .or_else(|| self.own_kind("*", kind));
        found.map(|kind| self.kind_at(kind).2)
    }

    /// Returns a kind that exists in this apiVersion only.
    pub(crate) fn own_kind(&self, api_version: &str, kind: &str) -> Option<KindId> {
        let found = self
            .kinds
            .binary_search_by(|(a, k, _)| (*a, *k).cmp(&(api_version, kind)));
        found.ok().and_then(|at| u16::try_from(at).ok()).map(KindId)
    }

    /// Returns the apiVersion, kind and message of a kind.
    pub(crate) fn kind_at(&self, kind: KindId) -> (&'static str, &'static str, MessageId) {
        self.kinds[usize::from(kind.0)]
    }

    /// Returns the message with a full name, such as `k8s.io.api.core.v1.Pod`.
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

    /// Returns all messages.
    pub(crate) fn ids(&self) -> impl Iterator<Item = MessageId> {
        (0..).map_while(|position| self.id(position))
    }

    fn id(&self, position: u16) -> Option<MessageId> {
        let shape = self.messages.get(usize::from(position))?.shape;
        Some(MessageId { position, shape })
    }

    /// Returns the descriptor of a message.
    #[inline]
    pub(crate) fn message(&self, id: MessageId) -> &MessageDescriptor {
        &self.messages[id.position()]
    }

    /// Returns the fields of a message, sorted by number. There are at most 64.
    #[inline]
    pub(crate) fn fields(&self, message: &MessageDescriptor) -> &[FieldDescriptor] {
        let first = usize::from(message.first_field);
        &self.fields[first..first + usize::from(message.field_count)]
    }

    /// Returns the fields of all messages, grouped by message.
    pub(crate) fn all_fields(&self) -> &[FieldDescriptor] {
        &self.fields
    }

    fn read_method(&self, field: &FieldDescriptor) -> ReadMethod {
        match (field.container, field.kind) {
            (Container::Single, ValueKind::Message(id)) if field.inline => ReadMethod::Inline(id),
            (Container::Single, ValueKind::Time | ValueKind::MicroTime) => ReadMethod::Time(field.omit_rule),
            (Container::Single, _) => ReadMethod::Single(self.omitted_value(field)),
            (Container::List, ValueKind::Bool | ValueKind::Int32 | ValueKind::Int64) => ReadMethod::Numbers,
            (Container::List, _) => ReadMethod::List,
            (Container::Map, _) => ReadMethod::Map,
        }
    }

    /// Returns the values that JSON omits for a field with a single value.
    fn omitted_value(&self, field: &FieldDescriptor) -> OmittedValue {
        match (field.omit_rule, field.kind) {
            (OmitRule::WhenEmpty, _) if field.pointer => OmittedValue::None,
            (OmitRule::WhenEmpty, ValueKind::String | ValueKind::Bytes) => OmittedValue::EmptyText,
            (OmitRule::WhenEmpty, ValueKind::Bool | ValueKind::Int64) => OmittedValue::ZeroNumber,
            (OmitRule::WhenEmpty, ValueKind::Int32) => OmittedValue::ZeroInt32,
            (OmitRule::WhenEmpty, ValueKind::Double) => OmittedValue::ZeroDouble,
            (OmitRule::WhenEmpty, ValueKind::Message(id)) if id.shape == Shape::List => {
                match self.fields(self.message(id)) {
                    [only] => OmittedValue::EmptyList(only.number),
                    _ => OmittedValue::None,
                }
            }
            (OmitRule::WhenZeroTime, ValueKind::Json) => OmittedValue::EmptyJson,
            _ => OmittedValue::None,
        }
    }

    /// Returns whether JSON contains the field even if the message does not.
    fn is_always_printed(&self, field: &FieldDescriptor) -> bool {
        if let (true, ValueKind::Message(id)) = (field.inline, field.kind) {
            let inlined = self.fields(self.message(id));
            return inlined.iter().any(|field| self.is_always_printed(field));
        }
        if field.is_nil_when_absent() {
            return field.omit_rule != OmitRule::WhenEmpty;
        }
        match field.omit_rule {
            OmitRule::Never => true,
            OmitRule::WhenEmpty => !matches!(
                field.kind,
                ValueKind::String | ValueKind::Bool | ValueKind::Int32 | ValueKind::Int64 | ValueKind::Double
            ),
            OmitRule::WhenZeroTime => !matches!(
                field.kind,
                ValueKind::Time | ValueKind::MicroTime | ValueKind::Json
            ),
        }
    }
}

impl FieldDescriptor {
    /// Returns whether the Go field can be nil.
    pub(crate) fn is_nil_when_absent(&self) -> bool {
        self.pointer
            || self.container != Container::Single
            || match self.kind {
                ValueKind::Bytes => true,
                ValueKind::Message(id) => id.shape == Shape::List,
                _ => false,
            }
    }

    fn tag(&self) -> u16 {
        let wire_type = match self.kind {
            ValueKind::Bool | ValueKind::Int32 | ValueKind::Int64 => 0,
            ValueKind::Double => 1,
            _ => 2,
        };
        self.number << 3 | wire_type
    }

    fn fast_path(&self) -> FastPath {
        match (self.kind, self.read_method) {
            (ValueKind::Double, _) => FastPath::None,
            (ValueKind::Bool | ValueKind::Int32 | ValueKind::Int64, ReadMethod::Single(omitted_value)) => {
                match omitted_value {
                    OmittedValue::None => FastPath::Number,
                    _ => FastPath::NumberOrNone,
                }
            }
            (_, ReadMethod::Single(OmittedValue::None)) => FastPath::Bytes,
            (_, ReadMethod::Single(OmittedValue::EmptyText)) => FastPath::BytesOrNone,
            _ => FastPath::None,
        }
    }
}

/// Finds a field by number. Starts at position `from`, because fields are usually in order.
#[inline]
pub(crate) fn position(
    fields: &[FieldDescriptor],
    from: usize,
    number: u64,
) -> Option<(usize, &FieldDescriptor)> {
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
    /// Returns the apiVersion and kind of all kinds.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.kinds
            .iter()
            .map(|(api_version, kind, _)| (*api_version, *kind))
    }

    /// Returns the full names of all messages.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.messages.iter().map(|m| format!("{}.{}", m.package, m.name))
    }
}
