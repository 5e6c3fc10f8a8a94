//! Validation of messages without decoding them.

mod plan;

use self::plan::{FieldCheck, Plan};
use super::convert::{decode_time, double, int_or_string, quantity, single_field};
use super::decode::{BASE_VALUES, VALUES_PER_BYTE};
use super::error::ProtobufErrorKind;
use super::field_reader::{Content, FieldReader};
use super::{Envelope, Error, MAGIC, MAX_DEPTH, Schema, time};
use crate::table::{self, Container, FieldDescriptor, MessageId, OmitRule, Shape, ValueKind, table};

impl Schema {
    /// Checks that a message can be decoded.
    ///
    /// A message that passes can be decoded into the k8s-openapi type of the kind, if the schema
    /// [covers](Self::covers) that type. The check takes a fraction of the time of decoding.
    ///
    /// The check is conservative: it rejects missing times that only some types accept. Types with additional
    /// constraints, for example an IP address in a string, may still fail to decode.
    ///
    /// # Errors
    /// Returns an error if the message is malformed, exceeds a limit or lacks a required value.
    ///
    /// # Examples
    ///
    /// ```
    /// use kube_wire::protobuf::{Envelope, Schema, encode};
    ///
    /// let bytes = encode(&serde_json::json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}))?;
    /// let node = Envelope::parse(&bytes)?.raw;
    /// let schema = Schema::of("v1", "Node").expect("built-in kind");
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
        // Decoding fails if a message has too many implicit values for its length.
        let most = checker.messages.saturating_mul(checker.plan.max_absent);
        let limit = message.len().saturating_mul(VALUES_PER_BYTE);
        if most > limit.saturating_add(BASE_VALUES) {
            return Err(ProtobufErrorKind::TooLarge.into());
        }
        Ok(())
    }
}

struct Checker {
    plan: &'static Plan,
    /// Number of messages read.
    messages: usize,
}

impl Checker {
    /// Checks a message and returns whether it contains any known field.
    fn message(&mut self, id: MessageId, message: &[u8], depth: usize) -> Result<bool, Error> {
        let plan = self.plan.message(id);
        if depth + plan.levels >= MAX_DEPTH {
            return Err(ProtobufErrorKind::TooDeep.into());
        }
        self.messages += 1;
        let (mut at, mut seen) = (0, 0_u64);
        let mut wire = FieldReader::of(message);
        while !wire.rest().is_empty() {
            let before = wire;
            let tag = wire.short_varint();
            // Fields are usually in order, and the values of a list have the same tag.
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
            match field.field_check {
                FieldCheck::AnyBytes => drop(wire.bytes()?),
                FieldCheck::AnyNumber => drop(wire.varint()?),
                FieldCheck::StringMap if is_simple_string_entry(wire.bytes()?) => {}
                FieldCheck::Message(inner) => {
                    let message = wire.bytes()?;
                    self.message(inner, message, depth + 1)
                        .map_err(|error| error.in_field(fields(id)[at].name))?;
                }
                FieldCheck::StringMap | FieldCheck::Full => {
                    wire = before;
                    self.any_field(id, at, &mut wire, depth)?;
                }
            }
        }
        let missing = plan.required & !seen;
        if missing != 0 {
            return Err(missing_field(id, missing.trailing_zeros() as usize));
        }
        Ok(seen != 0)
    }

    /// Checks any field and returns its position if it is known. Starts the search at position `from`.
    fn any_field(
        &mut self,
        id: MessageId,
        from: usize,
        wire: &mut FieldReader<'_>,
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

    fn field(&mut self, field: &FieldDescriptor, content: Content<'_>, depth: usize) -> Result<(), Error> {
        match (field.container, field.kind, content) {
            (Container::Map, kind, _) => {
                let mut entry = FieldReader::of(content.bytes()?);
                let mut has_value = false;
                while let Some((number, content)) = entry.next()? {
                    match number {
                        1 => drop(content.bytes()?),
                        2 => {
                            self.value(field, kind, content, depth)?;
                            has_value = true;
                        }
                        _ => {}
                    }
                }
                if has_value {
                    Ok(())
                } else {
                    self.absent_map_value(field, depth)
                }
            }
            (
                Container::List,
                ValueKind::Bool | ValueKind::Int32 | ValueKind::Int64,
                Content::Bytes(packed),
            ) => {
                let mut numbers = FieldReader::of(packed);
                while numbers.next_packed()?.is_some() {}
                Ok(())
            }
            (_, kind, _) => self.value(field, kind, content, depth),
        }
    }

    fn value(
        &mut self,
        field: &FieldDescriptor,
        kind: ValueKind,
        content: Content<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        match kind {
            ValueKind::String | ValueKind::Bytes => content.bytes().map(|_| ()),
            ValueKind::Bool | ValueKind::Int32 | ValueKind::Int64 => content.varint().map(|_| ()),
            ValueKind::Double => double(content.double()?).map(|_| ()),
            ValueKind::Time | ValueKind::MicroTime => {
                match decode_time(content.bytes()?, kind == ValueKind::MicroTime)? {
                    Some((time::MIN_SECONDS..=time::MAX_SECONDS, _)) => Ok(()),
                    Some(_) => Err(Error::invalid("time out of range for some types")),
                    None => absent_value(field),
                }
            }
            ValueKind::Quantity => quantity(content.bytes()?).map(|_| ()),
            ValueKind::IntOrString => int_or_string(content.bytes()?).map(|_| ()),
            ValueKind::Message(id) => self.nested_message(field, id, content.bytes()?, depth),
            ValueKind::Json => match single_field(content.bytes()?)? {
                None | Some(b"") => Ok(()),
                Some(raw) if raw.starts_with(MAGIC) => {
                    let envelope = Envelope::parse(raw)?;
                    let (api_version, kind) = (envelope.api_version, envelope.kind);
                    let id = table().kind(api_version, kind);
                    let id = id.ok_or_else(|| Error::unknown_kind(api_version, kind))?;
                    self.message(id, envelope.raw, depth + 1).map(|_| ())
                }
                // Embedded JSON is rare, so it is parsed completely.
                Some(raw) => match serde_json::from_slice::<serde_json::Value>(raw) {
                    Ok(_) => Ok(()),
                    Err(error) => Err(Error::not_json(&error)),
                },
            },
        }
    }

    /// Checks a map entry without a value.
    fn absent_map_value(&mut self, field: &FieldDescriptor, depth: usize) -> Result<(), Error> {
        match field.kind {
            ValueKind::Message(id) if !field.pointer => self.nested_message(field, id, b"", depth),
            _ => absent_value(field),
        }
    }

    fn nested_message(
        &mut self,
        field: &FieldDescriptor,
        id: MessageId,
        message: &[u8],
        depth: usize,
    ) -> Result<(), Error> {
        let holds_something = self.message(id, message, depth + 1)?;
        // It is `null` in JSON, which is only valid for optional fields.
        if !holds_something && !field.pointer && id.shape == Shape::SchemaOrList {
            return Err(Error::invalid("missing schema or list"));
        }
        Ok(())
    }
}

fn fields(id: MessageId) -> &'static [FieldDescriptor] {
    let table = table();
    table.fields(table.message(id))
}

/// Returns whether an entry consists of exactly a key and a value in this order, as all common encoders write it.
#[inline]
fn is_simple_string_entry(entry: &[u8]) -> bool {
    let mut entry = FieldReader::of(entry);
    entry.short_varint() == Some(1 << 3 | 2)
        && entry.short_bytes().is_some()
        && entry.short_varint() == Some(2 << 3 | 2)
        && entry.short_bytes().is_some()
        && entry.rest().is_empty()
}

#[cold]
fn missing_field(id: MessageId, position: usize) -> Error {
    Error::invalid("missing required value").in_field(fields(id)[position].name)
}

/// Checks a value that is `null` in JSON. Some types do not accept `null` for a time.
fn absent_value(field: &FieldDescriptor) -> Result<(), Error> {
    let is_time = matches!(field.kind, ValueKind::Time | ValueKind::MicroTime);
    let is_required = field.container != Container::Single || field.omit_rule == OmitRule::Never;
    if is_time && is_required && !field.pointer {
        return Err(Error::invalid("missing time"));
    }
    Ok(())
}
