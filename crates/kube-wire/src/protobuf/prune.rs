//! Removal of masked fields from messages.

use serde_json::Value;

use super::convert::{single_field, string};
use super::error::ProtobufErrorKind;
use super::field_reader::{Content, FieldReader};
use super::{Envelope, Error, MAGIC, MAX_DEPTH, Schema};
use crate::field_mask::{FieldMask, SubMask};
use crate::table::{self, Container, FieldDescriptor, MessageId, Shape, Table, ValueKind, table};

impl Schema {
    /// Appends a message to `out` without the masked fields.
    ///
    /// All other fields are copied, including unknown ones. Only the messages around masked fields are read, so a
    /// pruned message is not necessarily valid.
    ///
    /// # Errors
    /// Returns an error if a message that was read is malformed. `out` is unchanged in this case.
    ///
    /// # Examples
    ///
    /// ```
    /// use kube_wire::FieldMask;
    /// use kube_wire::protobuf::{Envelope, Schema, encode};
    /// use serde_json::{Value, json};
    ///
    /// let bytes = encode(&json!({
    ///     "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1", "b": "2"},
    /// }))?;
    /// let schema = Schema::of("v1", "ConfigMap").expect("built-in kind");
    /// let mut pruned = Vec::new();
    /// schema.prune(Envelope::parse(&bytes)?.raw, &FieldMask::none().path("data.a")?, &mut pruned)?;
    /// let left: Value = schema.decode(&pruned, &FieldMask::none())?;
    /// assert_eq!(left["data"], json!({"b": "2"}));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prune(&self, message: &[u8], mask: &FieldMask, out: &mut Vec<u8>) -> Result<(), Error> {
        out.reserve(message.len());
        let start = out.len();
        let mut pruner = MessagePruner { table: table(), out };
        let pruned = pruner.message(self.id, message, mask.root(), 0);
        if pruned.is_err() {
            out.truncate(start);
        }
        pruned
    }
}

struct MessagePruner<'o> {
    table: &'static Table,
    out: &'o mut Vec<u8>,
}

impl MessagePruner<'_> {
    fn message(
        &mut self,
        id: MessageId,
        message: &[u8],
        mask: SubMask<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        if mask.is_empty() {
            self.out.extend_from_slice(message);
            return Ok(());
        }
        if depth >= MAX_DEPTH {
            return Err(ProtobufErrorKind::TooDeep.into());
        }
        let description = self.table.message(id);
        let fields = self.table.fields(description);
        // Start of the bytes that are kept and not copied yet.
        let mut from = message;
        let mut wire = FieldReader::of(message);
        let mut at = 0;
        loop {
            let before = wire.rest();
            let Some((number, content)) = wire.next()? else {
                break;
            };
            let Some((position, field)) = table::position(fields, at, number) else {
                continue;
            };
            at = position;
            // Alternatives and inlined messages add no segment to a path.
            let takes_no_step = field.inline || description.shape != Shape::Object;
            let inner = if takes_no_step {
                Some(mask)
            } else {
                mask.field(field.name)
            };
            if inner.is_some_and(SubMask::is_empty) {
                continue;
            }
            self.out.extend_from_slice(&from[..from.len() - before.len()]);
            from = wire.rest();
            if let Some(inner) = inner {
                let whole = &before[..before.len() - from.len()];
                self.field(field, whole, content, inner, depth)
                    .map_err(|error| error.in_field(field.name))?;
            }
        }
        self.out.extend_from_slice(from);
        Ok(())
    }

    /// Copies a field of which a part may be masked.
    fn field(
        &mut self,
        field: &FieldDescriptor,
        whole: &[u8],
        content: Content<'_>,
        mask: SubMask<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        if field.container == Container::Map {
            return self.entry(field.kind, whole, content.bytes()?, mask, depth);
        }
        self.value(field.kind, whole, content, mask, depth)
    }

    fn entry(
        &mut self,
        kind: ValueKind,
        whole: &[u8],
        entry: &[u8],
        mask: SubMask<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        let mut key: &[u8] = b"";
        let mut fields = FieldReader::of(entry);
        while let Some((number, content)) = fields.next()? {
            if number == 1 {
                key = content.bytes()?;
            }
        }
        let Some(inner) = mask.field(&string(key)) else {
            return Ok(());
        };
        if inner.is_empty() {
            self.out.extend_from_slice(whole);
            return Ok(());
        }
        self.rewrite_field(whole, entry, |pruner| {
            let mut fields = FieldReader::of(entry);
            loop {
                let before = fields.rest();
                let Some((number, content)) = fields.next()? else {
                    return Ok(());
                };
                let whole = &before[..before.len() - fields.rest().len()];
                if number == 2 {
                    pruner.value(kind, whole, content, inner, depth)?;
                } else {
                    pruner.out.extend_from_slice(whole);
                }
            }
        })
    }

    fn value(
        &mut self,
        kind: ValueKind,
        whole: &[u8],
        content: Content<'_>,
        mask: SubMask<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        match kind {
            ValueKind::Message(id) => {
                let message = content.bytes()?;
                self.rewrite_field(whole, message, |pruner| {
                    pruner.message(id, message, mask, depth + 1)
                })
            }
            ValueKind::Json => {
                let message = content.bytes()?;
                self.rewrite_field(whole, message, |pruner| {
                    pruner.embedded_json(message, mask, depth)
                })
            }
            // Scalars have no fields.
            _ => {
                self.out.extend_from_slice(whole);
                Ok(())
            }
        }
    }

    /// Copies the message around embedded JSON, or around an object in its envelope.
    fn embedded_json(&mut self, message: &[u8], mask: SubMask<'_>, depth: usize) -> Result<(), Error> {
        let text = match single_field(message)? {
            None | Some(b"") => return Ok(()),
            Some(raw) if raw.starts_with(MAGIC) => {
                let envelope = Envelope::parse(raw)?;
                let Some(id) = self.table.kind(envelope.api_version, envelope.kind) else {
                    self.out.extend_from_slice(message);
                    return Ok(());
                };
                let mut inner = Vec::with_capacity(envelope.raw.len());
                let mut pruner = MessagePruner {
                    table: self.table,
                    out: &mut inner,
                };
                pruner.message(id, envelope.raw, mask, depth + 1)?;
                Envelope {
                    raw: &inner,
                    ..envelope
                }
                .to_bytes()
            }
            Some(raw) => {
                let mut json: Value = serde_json::from_slice(raw).map_err(|error| Error::not_json(&error))?;
                remove_masked(&mut json, mask);
                json.to_string().into_bytes()
            }
        };
        self.out.push(b'\x0a');
        let (bytes, len) = varint(text.len());
        self.out.extend_from_slice(&bytes[..len]);
        self.out.extend_from_slice(&text);
        Ok(())
    }

    /// Copies a field with a new content.
    fn rewrite_field(
        &mut self,
        whole: &[u8],
        content: &[u8],
        write: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut head = FieldReader::of(whole);
        head.varint()?;
        self.out
            .extend_from_slice(&whole[..whole.len() - head.rest().len()]);
        // Reserve as many bytes as the old length had; the new one usually has the same number.
        let room = head.rest().len() - content.len();
        let start = self.out.len() + room;
        self.out.resize(start, 0);
        write(self)?;
        let (bytes, len) = varint(self.out.len() - start);
        self.out.splice(start - room..start, bytes[..len].iter().copied());
        Ok(())
    }
}

fn varint(len: usize) -> ([u8; 10], usize) {
    let mut bytes = [0; 10];
    let mut value = len as u64;
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        if value == 0 {
            return (bytes, at + 1);
        }
        *byte |= 0x80;
    }
    (bytes, 10)
}

fn remove_masked(json: &mut Value, mask: SubMask<'_>) {
    match json {
        Value::Array(values) => values.iter_mut().for_each(|value| remove_masked(value, mask)),
        Value::Object(members) => members.retain(|key, value| match mask.field(key) {
            Some(inner) => {
                if !inner.is_empty() {
                    remove_masked(value, inner);
                }
                true
            }
            None => false,
        }),
        _ => {}
    }
}
