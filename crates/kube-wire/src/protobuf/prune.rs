//! Leaving fields out of messages without reading them.

use serde_json::Value;

use super::error::Reason;
use super::forms::{only_field, string};
use super::read::{Content, Fields};
use super::{Envelope, Error, MAGIC, MAX_DEPTH, Schema};
use crate::field_mask::{FieldMask, Within};
use crate::table::{self, Container, Field, Kind, MessageId, Shape, Table, table};

impl Schema {
    /// Adds to `out` the message without what is left out.
    ///
    /// All else stays as it is, also fields that nobody knows. Only what is around the fields that are left out is looked
    /// at, so that a message that comes through is not thereby a good one.
    ///
    /// ```
    /// use kube_wire::FieldMask;
    /// use kube_wire::protobuf::{Envelope, Schema, encode};
    /// use serde_json::{Value, json};
    ///
    /// let bytes = encode(&json!({
    ///     "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1", "b": "2"},
    /// }))?;
    /// let schema = Schema::of("v1", "ConfigMap").expect("Kubernetes has config maps");
    /// let mut pruned = Vec::new();
    /// schema.prune(Envelope::parse(&bytes)?.raw, &FieldMask::none().path("data.a")?, &mut pruned)?;
    /// let left: Value = schema.decode(&pruned, &FieldMask::none())?;
    /// assert_eq!(left["data"], json!({"b": "2"}));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prune(&self, message: &[u8], mask: &FieldMask, out: &mut Vec<u8>) -> Result<(), Error> {
        out.reserve(message.len());
        let start = out.len();
        let mut pruner = Pruner { table: table(), out };
        let pruned = pruner.message(self.id, message, mask.start(), 0);
        if pruned.is_err() {
            out.truncate(start);
        }
        pruned
    }
}

struct Pruner<'o> {
    table: &'static Table,
    out: &'o mut Vec<u8>,
}

impl Pruner<'_> {
    fn message(
        &mut self,
        id: MessageId,
        message: &[u8],
        within: Within<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        if within.is_kept() {
            self.out.extend_from_slice(message);
            return Ok(());
        }
        if depth >= MAX_DEPTH {
            return Err(Reason::TooDeep.into());
        }
        let description = self.table.message(id);
        let fields = self.table.fields(description);
        // What comes from here to the field that is read has to be copied.
        let mut from = message;
        let mut wire = Fields::of(message);
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
            // What stands for one of several things is no step further, nor is what is inlined.
            let takes_no_step = field.inline || description.shape != Shape::Object;
            let inner = if takes_no_step {
                Some(within)
            } else {
                within.field(field.name)
            };
            if inner.is_some_and(Within::is_kept) {
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

    /// A field of which something may be left out.
    fn field(
        &mut self,
        field: &Field,
        whole: &[u8],
        content: Content<'_>,
        within: Within<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        if field.container == Container::Map {
            return self.entry(field.kind, whole, content.bytes()?, within, depth);
        }
        self.value(field.kind, whole, content, within, depth)
    }

    fn entry(
        &mut self,
        kind: Kind,
        whole: &[u8],
        entry: &[u8],
        within: Within<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        let mut key: &[u8] = b"";
        let mut fields = Fields::of(entry);
        while let Some((number, content)) = fields.next()? {
            if number == 1 {
                key = content.bytes()?;
            }
        }
        let Some(inner) = within.field(&string(key)) else {
            return Ok(());
        };
        if inner.is_kept() {
            self.out.extend_from_slice(whole);
            return Ok(());
        }
        self.wrapped(whole, entry, |pruner| {
            let mut fields = Fields::of(entry);
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
        kind: Kind,
        whole: &[u8],
        content: Content<'_>,
        within: Within<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        match kind {
            Kind::Message(id) => {
                let message = content.bytes()?;
                self.wrapped(whole, message, |pruner| {
                    pruner.message(id, message, within, depth + 1)
                })
            }
            Kind::Json => {
                let message = content.bytes()?;
                self.wrapped(whole, message, |pruner| pruner.embedded(message, within, depth))
            }
            // The path goes on where there is nothing.
            _ => {
                self.out.extend_from_slice(whole);
                Ok(())
            }
        }
    }

    /// The message around embedded JSON, or around an object in its envelope.
    fn embedded(&mut self, message: &[u8], within: Within<'_>, depth: usize) -> Result<(), Error> {
        let text = match only_field(message)? {
            None | Some(b"") => return Ok(()),
            Some(raw) if raw.starts_with(MAGIC) => {
                let envelope = Envelope::parse(raw)?;
                let Some(id) = self.table.kind(envelope.api_version, envelope.kind) else {
                    self.out.extend_from_slice(message);
                    return Ok(());
                };
                let mut inner = Vec::with_capacity(envelope.raw.len());
                let mut pruner = Pruner {
                    table: self.table,
                    out: &mut inner,
                };
                pruner.message(id, envelope.raw, within, depth + 1)?;
                Envelope {
                    raw: &inner,
                    ..envelope
                }
                .to_bytes()
            }
            Some(raw) => {
                let mut json: Value = serde_json::from_slice(raw).map_err(|error| Error::not_json(&error))?;
                leave_out(&mut json, within);
                json.to_string().into_bytes()
            }
        };
        self.out.push(b'\x0a');
        let (bytes, len) = varint(text.len());
        self.out.extend_from_slice(&bytes[..len]);
        self.out.extend_from_slice(&text);
        Ok(())
    }

    /// A field whose content is written anew.
    fn wrapped(
        &mut self,
        whole: &[u8],
        content: &[u8],
        write: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut head = Fields::of(whole);
        head.varint()?;
        self.out
            .extend_from_slice(&whole[..whole.len() - head.rest().len()]);
        // Room for the length as it was: mostly the new one takes as many bytes.
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

fn leave_out(json: &mut Value, within: Within<'_>) {
    match json {
        Value::Array(values) => values.iter_mut().for_each(|value| leave_out(value, within)),
        Value::Object(members) => members.retain(|key, value| match within.field(key) {
            Some(inner) => {
                if !inner.is_kept() {
                    leave_out(value, inner);
                }
                true
            }
            None => false,
        }),
        _ => {}
    }
}
