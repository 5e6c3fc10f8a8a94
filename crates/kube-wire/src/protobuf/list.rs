//! Lists, written item by item.

use serde_json::Value;

use super::Error;
use super::encode::Encoder;
use super::envelope::{self, NO_CONTENT_TYPE};
use crate::table::{Container, Field, table};

/// Writes the list of a kind without an object that holds it all.
///
/// A list is its head, then its items, then its tail. The head says how long the items are together, so they are encoded
/// first; each can be dropped, cached or sent on its own.
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
    metadata: &'static Field,
    items: &'static Field,
}

impl ListEncoder {
    /// For a kind of list, such as `v1` and `PodList`. It is an unknown kind, too, if it is no list of objects.
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

    /// One item, as it is in the list. Its apiVersion and kind are not written: those of the list say it.
    pub fn item(&self, item: &Value) -> Result<Vec<u8>, Error> {
        let mut encoder = Encoder::new();
        encoder
            .value(self.items.number, self.items.kind, item, 0)
            .map_err(|error| error.in_field(self.items.name))?;
        Ok(encoder.writer.finish())
    }

    /// One item whose message is encoded already, as [`Envelope::raw`](super::Envelope::raw) holds it.
    pub fn encoded_item(&self, message: &[u8]) -> Vec<u8> {
        let mut encoder = Encoder::new();
        encoder.writer.bytes_field(self.items.number, message);
        encoder.writer.finish()
    }

    /// What stands before the items: the envelope's beginning and the list's metadata. `items` is how many bytes all
    /// items have together.
    pub fn head(&self, metadata: &Value, items: usize) -> Result<Vec<u8>, Error> {
        let mut encoder = Encoder::new();
        encoder
            .value(self.metadata.number, self.metadata.kind, metadata, 0)
            .map_err(|error| error.in_field(self.metadata.name))?;
        let len = encoder.writer.len() + items;
        envelope::close(&mut encoder.writer, &self.api_version, &self.kind, len);
        Ok(encoder.writer.finish())
    }

    /// What stands after the items.
    pub fn tail(&self) -> &'static [u8] {
        NO_CONTENT_TYPE
    }
}
