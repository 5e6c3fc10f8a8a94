//! Whether bytes are an object, without making one.

use std::sync::OnceLock;

use super::decode::{VALUES, VALUES_PER_BYTE};
use super::error::Reason;
use super::forms::{double, int_or_string, moment, only_field, quantity};
use super::read::{Content, Fields};
use super::{Envelope, Error, MAGIC, MAX_DEPTH, Schema, time};
use crate::table::{self, Container, Field, Kind, MessageId, Omitted, Shape, Table};

impl Schema {
    /// Reads a message to its last field and keeps nothing of it.
    ///
    /// What this finds to be good can be read as the type that k8s-openapi has for the kind, if that is
    /// [covered](Self::covers), and takes a fraction of the time. What it refuses may be good all the same: a time that is
    /// missing where there should be one, some types take and some do not. And types with demands of their own, as that a
    /// text is an address, may refuse what is found good here.
    ///
    /// ```
    /// use kube_wire::protobuf::{Envelope, Schema, encode};
    ///
    /// let bytes = encode(&serde_json::json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}))?;
    /// let node = Envelope::parse(&bytes)?.raw;
    /// let schema = Schema::of("v1", "Node").expect("Kubernetes has nodes");
    /// assert!(schema.check(node).is_ok());
    /// assert!(schema.check(&node[..3]).is_err());
    /// # Ok::<(), kube_wire::protobuf::Error>(())
    /// ```
    pub fn check(&self, message: &[u8]) -> Result<(), Error> {
        let mut checker = Checker {
            table: table::table(),
            messages: 0,
        };
        checker.message(self.id, message, 0)?;
        // A reader gives up where bytes stand for too many values of which the wire has nothing.
        let most = checker.messages.saturating_mul(most_absent());
        if most
            > message
                .len()
                .saturating_mul(VALUES_PER_BYTE)
                .saturating_add(VALUES)
        {
            return Err(Reason::TooLarge.into());
        }
        Ok(())
    }
}

struct Checker {
    table: &'static Table,
    /// How many there were.
    messages: usize,
}

impl Checker {
    /// Tells whether there is any field that is known.
    fn message(&mut self, id: MessageId, message: &[u8], depth: usize) -> Result<bool, Error> {
        if depth >= MAX_DEPTH {
            return Err(Reason::TooDeep.into());
        }
        self.messages += 1;
        let description = self.table.message(id);
        let fields = self.table.fields(description);
        let (mut at, mut seen) = (0, 0_u64);
        let mut wire = Fields::of(message);
        while let Some((number, content)) = wire.next()? {
            let Some((position, field)) = table::position(fields, at, number) else {
                continue;
            };
            // A list's values are of the same field.
            at = position;
            seen |= 1 << position;
            if is_plain(field, content) {
                continue;
            }
            self.field(field, content, depth)
                .map_err(|error| error.in_field(field.name))?;
        }
        let mut absent = description.always_printed & !seen;
        while absent != 0 {
            let field = &fields[absent.trailing_zeros() as usize];
            absent &= absent - 1;
            // Lists and maps that are not there are nothing.
            if field.container != Container::One {
                continue;
            }
            self.absent(field, depth)
                .map_err(|error| error.in_field(field.name))?;
        }
        Ok(seen != 0)
    }

    fn field(&mut self, field: &Field, content: Content<'_>, depth: usize) -> Result<(), Error> {
        match (field.container, field.kind, content) {
            (Container::Map, kind, _) => {
                let mut entry = Fields::of(content.bytes()?);
                let mut is_there = false;
                while let Some((number, content)) = entry.next()? {
                    match number {
                        1 => drop(content.bytes()?),
                        2 => {
                            self.value(field, kind, content, depth)?;
                            is_there = true;
                        }
                        _ => {}
                    }
                }
                if is_there {
                    Ok(())
                } else {
                    self.absent(field, depth)
                }
            }
            (Container::List, Kind::Bool | Kind::Int32 | Kind::Int64, Content::Bytes(packed)) => {
                let mut numbers = Fields::of(packed);
                while numbers.next_packed()?.is_some() {}
                Ok(())
            }
            (_, kind, _) => self.value(field, kind, content, depth),
        }
    }

    fn value(&mut self, field: &Field, kind: Kind, content: Content<'_>, depth: usize) -> Result<(), Error> {
        match kind {
            Kind::String | Kind::Bytes => content.bytes().map(|_| ()),
            Kind::Bool | Kind::Int32 | Kind::Int64 => content.varint().map(|_| ()),
            Kind::Double => double(content.double()?).map(|_| ()),
            Kind::Time | Kind::MicroTime => match moment(content.bytes()?, kind == Kind::MicroTime)? {
                Some((time::FIRST..=time::LAST, _)) => Ok(()),
                Some(_) => Err(Error::invalid("a time is too far away for some types")),
                None => absent_value(field),
            },
            Kind::Quantity => quantity(content.bytes()?).map(|_| ()),
            Kind::IntOrString => int_or_string(content.bytes()?).map(|_| ()),
            Kind::Message(id) => self.inner(field, id, content.bytes()?, depth),
            Kind::Json => match only_field(content.bytes()?)? {
                None | Some(b"") => Ok(()),
                Some(raw) if raw.starts_with(MAGIC) => {
                    let envelope = Envelope::parse(raw)?;
                    let (api_version, kind) = (envelope.api_version, envelope.kind);
                    let id = self.table.kind(api_version, kind);
                    let id = id.ok_or_else(|| Error::unknown_kind(api_version, kind))?;
                    self.message(id, envelope.raw, depth + 1).map(|_| ())
                }
                // What is ignored is not looked at as closely, and embedded JSON is rare.
                Some(raw) => match serde_json::from_slice::<serde_json::Value>(raw) {
                    Ok(_) => Ok(()),
                    Err(error) => Err(Error::not_json(&error)),
                },
            },
        }
    }

    /// A value of which the wire has nothing, and which is printed all the same.
    fn absent(&mut self, field: &Field, depth: usize) -> Result<(), Error> {
        match field.kind {
            Kind::Message(id) if !field.pointer => self.inner(field, id, b"", depth),
            _ => absent_value(field),
        }
    }

    fn inner(&mut self, field: &Field, id: MessageId, message: &[u8], depth: usize) -> Result<(), Error> {
        let holds_something = self.message(id, message, depth + 1)?;
        // It is `null` in JSON, which only those take that can be without it.
        if !holds_something && !field.pointer && id.shape == Shape::SchemaOrList {
            return Err(Error::invalid("a schema or a list is missing"));
        }
        Ok(())
    }
}

/// Whether it is text or a number, as most are: there is nothing more to be found out about these.
#[inline]
fn is_plain(field: &Field, content: Content<'_>) -> bool {
    field.container != Container::Map
        && match content {
            Content::Bytes(_) => matches!(field.kind, Kind::String | Kind::Bytes),
            Content::Varint(_) => matches!(field.kind, Kind::Bool | Kind::Int32 | Kind::Int64),
            _ => false,
        }
}

/// A value that is `null` in JSON: some types do not take it for a time.
fn absent_value(field: &Field) -> Result<(), Error> {
    let is_time = matches!(field.kind, Kind::Time | Kind::MicroTime);
    let is_needed = field.container != Container::One || field.omitted == Omitted::Never;
    if is_time && is_needed && !field.pointer {
        return Err(Error::invalid("a time is missing"));
    }
    Ok(())
}

/// How many values any message can have in JSON of which the wire has nothing: in itself, and in messages that are printed
/// although they are not there.
fn most_absent() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| {
        let table = table::table();
        table
            .ids()
            .map(|id| absent_in(table, id, 0))
            .max()
            .unwrap_or_default()
            + 1
    })
}

fn absent_in(table: &Table, id: MessageId, depth: usize) -> usize {
    if depth >= MAX_DEPTH {
        return usize::MAX / 2;
    }
    let message = table.message(id);
    let fields = table.fields(message).iter().enumerate();
    let printed = fields.filter(|(at, _)| message.always_printed & (1 << at) != 0);
    printed.fold(0, |sum: usize, (_, field)| {
        let inside = match field.kind {
            Kind::Message(id) if field.container == Container::One && !field.pointer => {
                absent_in(table, id, depth + 1)
            }
            _ => 0,
        };
        sum.saturating_add(1).saturating_add(inside)
    })
}
