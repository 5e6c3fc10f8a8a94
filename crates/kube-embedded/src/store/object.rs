//! A version of an object, in encoded form.
//!
//! An object is encoded once, when it is written, as its watch event:
//!
//! ```text
//! {"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{…},"spec":{…}}}\n
//!                          ^object              ^rest          ^metadata_end       ^end
//! ```
//!
//! All JSON that the API returns is a slice of these bytes: the object, an item of a list (without kind and version),
//! or its metadata. Lists and watches copy nothing, and all watches share one encoding.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};
use kube_wire::protobuf;
use serde_json::{Map, Value};

use super::Key;

/// The type of a watch event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    Added,
    Modified,
    Deleted,
}

impl EventKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            EventKind::Added => "ADDED",
            EventKind::Modified => "MODIFIED",
            EventKind::Deleted => "DELETED",
        }
    }

    /// Returns the beginning of a watch event, up to the object.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            EventKind::Added => r#"{"type":"ADDED","object":"#,
            EventKind::Modified => r#"{"type":"MODIFIED","object":"#,
            EventKind::Deleted => r#"{"type":"DELETED","object":"#,
        }
    }
}

/// The end of a watch event, after the object.
const SUFFIX: &str = "}\n";

/// A version of an object.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) key: Key,
    pub(crate) revision: u64,
    pub(crate) uid: Box<str>,
    pub(crate) labels: Box<[(Box<str>, Box<str>)]>,
    /// Values of the selectable fields, in the order of the kind's list of them.
    pub(crate) fields: Box<[Box<str>]>,
    /// Uids of the owners.
    pub(crate) owners: Box<[Box<str>]>,
    /// Whether the object has a deletion timestamp.
    pub(crate) deleting: bool,
    /// Hash of the schema by which the object is pruned and defaulted; 0 for built-in kinds, or if unknown.
    schema: AtomicU64,
    kind: EventKind,
    event: Bytes,
    object: u32,
    rest: u32,
    metadata_end: u32,
    /// The object in protobuf, encoded on first use.
    protobuf: OnceLock<Option<Bytes>>,
}

impl Stored {
    /// Encodes `object` at `revision`, as an event of type `kind`. Sets `metadata.resourceVersion`. `kind`,
    /// `apiVersion` and metadata come first.
    pub(crate) fn encode(
        kind: EventKind,
        key: Key,
        revision: u64,
        object: &mut Value,
        fields: Box<[Box<str>]>,
        schema: u64,
    ) -> Stored {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".into(), revision.to_string().into());
        }
        let (event, marks) = write_event(kind, object, schema != 0);
        let metadata = &object["metadata"];
        Stored {
            key,
            revision,
            uid: metadata["uid"].as_str().unwrap_or_default().into(),
            labels: text_pairs(metadata["labels"].as_object()),
            fields,
            owners: metadata["ownerReferences"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|o| o["uid"].as_str().map(Box::from))
                .collect(),
            deleting: metadata.get("deletionTimestamp").is_some(),
            schema: AtomicU64::new(schema),
            kind,
            event,
            object: marks.object,
            rest: marks.rest,
            metadata_end: marks.metadata_end,
            protobuf: OnceLock::new(),
        }
    }

    /// Returns whether the object is pruned and defaulted by the schema with this hash.
    pub(crate) fn is_of_schema(&self, hash: u64) -> bool {
        self.schema.load(Ordering::Relaxed) == hash
    }

    /// Records that the object is pruned and defaulted by the schema with this hash.
    pub(crate) fn set_schema(&self, hash: u64) {
        self.schema.store(hash, Ordering::Relaxed);
    }

    /// Returns the object in protobuf with its envelope; `None` for kinds without protobuf.
    pub(crate) fn protobuf(&self) -> Option<&Bytes> {
        self.protobuf
            .get_or_init(|| protobuf::encode(&self.value()).ok().map(Bytes::from))
            .as_ref()
    }

    /// Returns the object in JSON.
    pub(crate) fn json(&self) -> Bytes {
        self.event
            .slice(self.object as usize..self.event.len() - SUFFIX.len())
    }

    /// Returns the JSON of the object after `{"kind":…,"apiVersion":…,`, for items of typed lists.
    pub(crate) fn json_rest(&self) -> Bytes {
        self.event
            .slice(self.rest as usize..self.event.len() - SUFFIX.len())
    }

    /// Returns `"metadata":{…}` in JSON.
    pub(crate) fn json_metadata(&self) -> Bytes {
        self.event.slice(self.rest as usize..self.metadata_end as usize)
    }

    /// Returns the watch event of this type in one or two parts.
    pub(crate) fn event(&self, kind: EventKind) -> (Option<Bytes>, Bytes) {
        if kind == self.kind {
            return (None, self.event.clone());
        }
        (
            Some(Bytes::from_static(kind.prefix().as_bytes())),
            self.event.slice(self.object as usize..),
        )
    }

    /// Decodes the object.
    pub(crate) fn value(&self) -> Value {
        // `encode` wrote valid JSON.
        serde_json::from_slice(&self.json()).unwrap_or_default()
    }

    /// Returns the object with another revision, for a watch whose selector it no longer matches.
    pub(crate) fn at_revision(&self, revision: u64) -> Stored {
        let mut object = self.value();
        Stored::encode(
            EventKind::Deleted,
            self.key.clone(),
            revision,
            &mut object,
            self.fields.clone(),
            self.schema.load(Ordering::Relaxed),
        )
    }

    /// Returns the size of this version in bytes, including its encoding.
    pub(crate) fn size(&self) -> usize {
        size_of::<Stored>() + self.event.len()
    }
}

struct Offsets {
    object: u32,
    rest: u32,
    metadata_end: u32,
}

/// Encodes a watch event. `apiVersion` of custom resources comes before `kind`, as on a real server.
fn write_event(kind: EventKind, object: &Value, custom: bool) -> (Bytes, Offsets) {
    let empty = Map::new();
    let fields = object.as_object().unwrap_or(&empty);
    let mut out = Vec::with_capacity(512);
    let position = |out: &Vec<u8>| u32::try_from(out.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(kind.prefix().as_bytes());
    let start = position(&out);
    out.push(b'{');
    let names = ["kind", "apiVersion"];
    for name in if custom { [names[1], names[0]] } else { names } {
        write_json(&mut out, name);
        out.push(b':');
        write_json(&mut out, &object[name]);
        out.push(b',');
    }
    let rest = position(&out);
    out.extend_from_slice(br#""metadata":"#);
    write_json(&mut out, &object["metadata"]);
    let metadata_end = position(&out);
    for (name, value) in fields {
        if !matches!(name.as_str(), "kind" | "apiVersion" | "metadata") {
            out.push(b',');
            write_json(&mut out, name);
            out.push(b':');
            write_json(&mut out, value);
        }
    }
    out.push(b'}');
    out.extend_from_slice(SUFFIX.as_bytes());
    // Copied to an exact allocation, because spare capacity would be kept as long as the object.
    let exact = BytesMut::from(out.as_slice()).freeze();
    (
        exact,
        Offsets {
            object: start,
            rest,
            metadata_end,
        },
    )
}

fn write_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    // Cannot fail: the keys of a `Value` are text.
    let _ = serde_json::to_writer(out, value);
}

fn text_pairs(map: Option<&Map<String, Value>>) -> Box<[(Box<str>, Box<str>)]> {
    map.into_iter()
        .flatten()
        .filter_map(|(k, v)| Some((k.as_str().into(), v.as_str()?.into())))
        .collect()
}
