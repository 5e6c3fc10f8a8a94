//! An incremental encoder for lists.

use serde_json::Value;

use super::Error;
use super::encode::Encoder;
use super::envelope::{self, NO_CONTENT_TYPE};
use crate::table::{Container, FieldDescriptor, table};

/// Encodes a list item by item, without building the whole list.
///
/// A list consists of a head, the items and a tail. The head contains the length of all items, so encode them first.
/// Each encoded item can be dropped, cached or sent separately.
///
/// # Examples
///
/// ```
/// use kube_wire::protobuf::{ListEncoder, decode};
/// use serde_json::json;
///
/// let list = ListEncoder::new("v1", "ConfigMapList")?;
/// let items = [
///     list.item(&json!({"metadata": {"name": "a"}}))?,
///     list.item(&json!({"metadata": {"name": "b"}}))?,
/// ];
/// let len = items.iter().map(Vec::len).sum();
///
/// let mut body = list.head(&json!({"resourceVersion": "7"}), len)?;
/// body.extend(items.concat());
/// body.extend(list.tail());
///
/// assert_eq!(decode(&body)?, json!({
///     "apiVersion": "v1",
///     "kind": "ConfigMapList",
///     "metadata": {"resourceVersion": "7"},
///     "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}],
/// }));
/// # Ok::<(), kube_wire::protobuf::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ListEncoder {
    api_version: String,
    kind: String,
    metadata: &'static FieldDescriptor,
    items: &'static FieldDescriptor,
}

impl ListEncoder {
    /// Creates an encoder for a list kind, such as `v1` and `PodList`.
    ///
    /// # Errors
    /// Returns an [unknown kind](Error::is_unknown_kind) error if the kind has no protobuf encoding or is not a list
    /// of objects.
    pub fn new(api_version: &str, kind: &str) -> Result<Self, Error> {
        let table = table();
        let id = table
            .kind(api_version, kind)
            .ok_or_else(|| Error::unknown_kind(api_version, kind))?;
        match table.fields(table.message(id)) {
            [metadata, items]
                if (metadata.name, items.name) == ("metadata", "items")
                    && items.container == Container::List =>
            {
                Ok(Self {
                    api_version: api_version.to_owned(),
                    kind: kind.to_owned(),
                    metadata,
                    items,
                })
            }
            _ => Err(Error::unknown_kind(api_version, kind)),
        }
    }

    /// Encodes one item. Omits its apiVersion and kind, which follow from those of the list.
    ///
    /// # Errors
    /// Returns an error if the item does not match the schema.
    pub fn item(&self, item: &Value) -> Result<Vec<u8>, Error> {
        let mut encoder = Encoder::new();
        encoder
            .value(self.items.number, self.items.kind, item, 0)
            .map_err(|error| error.in_field(self.items.name))?;
        Ok(encoder.writer.finish())
    }

    /// Encodes one item from its message, as in [`Envelope::raw`](super::Envelope::raw).
    pub fn encoded_item(&self, message: &[u8]) -> Vec<u8> {
        let mut encoder = Encoder::new();
        encoder.writer.bytes_field(self.items.number, message);
        encoder.writer.finish()
    }

    /// Encodes the part before the items: the start of the envelope and the metadata of the list. `items` is the
    /// length of all items in bytes.
    ///
    /// # Errors
    /// Returns an error if the metadata does not match the schema.
    pub fn head(&self, metadata: &Value, items: usize) -> Result<Vec<u8>, Error> {
        let mut encoder = Encoder::new();
        encoder
            .value(self.metadata.number, self.metadata.kind, metadata, 0)
            .map_err(|error| error.in_field(self.metadata.name))?;
        let len = encoder.writer.len() + items;
        envelope::write_header(&mut encoder.writer, &self.api_version, &self.kind, len);
        Ok(encoder.writer.finish())
    }

    /// Returns the part after the items.
    pub fn tail(&self) -> &'static [u8] {
        NO_CONTENT_TYPE
    }
}
