//! Whether bytes are an object, without making one.

mod plan;

use self::plan::{Look, Plan};
use super::decode::{VALUES, VALUES_PER_BYTE};
use super::error::Reason;
use super::forms::{double, int_or_string, moment, only_field, quantity};
use super::read::{Content, Fields};
use super::{Envelope, Error, MAGIC, MAX_DEPTH, Schema, time};
use crate::table::{self, Container, Field, Kind, MessageId, Omitted, Shape, table};

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
            plan: Plan::get(),
            messages: 0,
        };
        checker.message(self.id, message, 0)?;
        // A reader gives up where bytes stand for too many values of which the wire has nothing.
        let most = checker.messages.saturating_mul(checker.plan.most_absent);
        let limit = message.len().saturating_mul(VALUES_PER_BYTE);
        if most > limit.saturating_add(VALUES) {
            return Err(Reason::TooLarge.into());
        }
        Ok(())
    }
}

struct Checker {
    plan: &'static Plan,
    /// How many there were on the wire.
    messages: usize,
}

impl Checker {
    /// Tells whether there is any field that is known.
    fn message(&mut self, id: MessageId, message: &[u8], depth: usize) -> Result<bool, Error> {
        let plan = self.plan.message(id);
        if depth + plan.levels >= MAX_DEPTH {
            return Err(Reason::TooDeep.into());
        }
        self.messages += 1;
        let (mut at, mut seen) = (0, 0_u64);
        let mut wire = Fields::of(message);
        while !wire.rest().is_empty() {
            let before = wire;
            let tag = wire.short_varint();
            // They come in order, mostly; a list's values are of the same field.
            let known = tag.and_then(|tag| {
                while plan.fields.get(at).is_some_and(|field| field.tag < tag) {
                    at += 1;
                }
                plan.fields.get(at).filter(|field| field.tag == tag)
            });
            let Some(field) = known else {
                wire = before;
                if let Some(position) = self.any_field(id, at, &mut wire, depth)? {
                    at = position;
                    seen |= 1 << position;
                }
                continue;
            };
            seen |= 1 << at;
            match field.look {
                Look::Bytes => drop(wire.bytes()?),
                Look::Number => drop(wire.varint()?),
                Look::Texts if is_entry_of_texts(wire.bytes()?) => {}
                Look::Message(inner) => {
                    let message = wire.bytes()?;
                    self.message(inner, message, depth + 1)
                        .map_err(|error| error.in_field(fields(id)[at].name))?;
                }
                Look::Texts | Look::Close => {
                    wire = before;
                    self.any_field(id, at, &mut wire, depth)?;
                }
            }
        }
        let missing = plan.needed & !seen;
        if missing != 0 {
            return Err(is_missing(id, missing.trailing_zeros() as usize));
        }
        Ok(seen != 0)
    }

    /// Reads a field of which nothing is known yet, and tells its position if there is such a field, looked for from a
    /// position on.
    fn any_field(
        &mut self,
        id: MessageId,
        from: usize,
        wire: &mut Fields<'_>,
        depth: usize,
    ) -> Result<Option<usize>, Error> {
        let Some((number, content)) = wire.next()? else {
            return Ok(None);
        };
        let fields = fields(id);
        let Some((position, field)) = table::position(fields, from, number) else {
            return Ok(None);
        };
        self.field(field, content, depth)
            .map_err(|error| error.in_field(field.name))?;
        Ok(Some(position))
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
                    let id = table().kind(api_version, kind);
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

    /// A value of a map of which the wire has nothing.
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

fn fields(id: MessageId) -> &'static [Field] {
    let table = table();
    table.fields(table.message(id))
}

/// Whether this is a key and a value, in this order, and nothing else, as all are that anyone writes.
#[inline]
fn is_entry_of_texts(entry: &[u8]) -> bool {
    let mut entry = Fields::of(entry);
    entry.short_varint() == Some(1 << 3 | 2)
        && entry.short_bytes().is_some()
        && entry.short_varint() == Some(2 << 3 | 2)
        && entry.short_bytes().is_some()
        && entry.rest().is_empty()
}

#[cold]
fn is_missing(id: MessageId, position: usize) -> Error {
    Error::invalid("something that has to be there is missing").in_field(fields(id)[position].name)
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
