//! One version of one object, in the form it leaves the server.
//!
//! An object is encoded once, when it is written, as the watch event that announces it:
//!
//! ```text
//! {"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{…},"spec":{…}}}\n
//!                          ^object              ^rest          ^metadata_end       ^end
//! ```
//!
//! Everything else the API answers is a slice of these bytes: the object alone, an item of a list (which has no kind of
//! its own), its metadata. So lists and watches copy nothing and a thousand watchers share one encoding.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};
use kube_wire::protobuf;
use serde_json::{Map, Value};

use super::Key;

/// What a change did to an object, by the name the watch protocol gives it.
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

    /// The start of a watch event of this kind, up to the object.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            EventKind::Added => r#"{"type":"ADDED","object":"#,
            EventKind::Modified => r#"{"type":"MODIFIED","object":"#,
            EventKind::Deleted => r#"{"type":"DELETED","object":"#,
        }
    }
}

/// What follows the object in a watch event.
const SUFFIX: &str = "}\n";

/// One version of one object.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) key: Key,
    pub(crate) revision: u64,
    pub(crate) uid: Box<str>,
    pub(crate) labels: Box<[(Box<str>, Box<str>)]>,
    /// Values of the fields that a field selector may name, in the order of the kind's list of them.
    pub(crate) fields: Box<[Box<str>]>,
    /// Uids of the owners.
    pub(crate) owners: Box<[Box<str>]>,
    /// A deletion timestamp is set.
    pub(crate) deleting: bool,
    /// Hash of the schema that the object is pruned and defaulted by; 0 for built-in kinds, and if it is not known.
    schema: AtomicU64,
    kind: EventKind,
    event: Bytes,
    object: u32,
    rest: u32,
    metadata_end: u32,
    /// The object in protobuf, once someone has asked for it.
    protobuf: OnceLock<Option<Bytes>>,
}

impl Stored {
    /// Encodes `object` as version `revision`, announced as `kind`. The object's own `kind` and `apiVersion` come first,
    /// then its metadata; `metadata.resourceVersion` is set here.
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

    /// Remembers that pruning and defaulting by the schema with this hash do not change the object.
    pub(crate) fn set_schema(&self, hash: u64) {
        self.schema.store(hash, Ordering::Relaxed);
    }

    /// The object in protobuf, in its envelope; `None` for kinds that have none.
    pub(crate) fn protobuf(&self) -> Option<&Bytes> {
        self.protobuf
            .get_or_init(|| protobuf::encode(&self.value()).ok().map(Bytes::from))
            .as_ref()
    }

    /// The object in JSON.
    pub(crate) fn json(&self) -> Bytes {
        self.event
            .slice(self.object as usize..self.event.len() - SUFFIX.len())
    }

    /// The object without its leading `{"kind":…,"apiVersion":…,`: what follows the brace of an item of a typed list.
    pub(crate) fn json_rest(&self) -> Bytes {
        self.event
            .slice(self.rest as usize..self.event.len() - SUFFIX.len())
    }

    /// `"metadata":{…}` in JSON.
    pub(crate) fn json_metadata(&self) -> Bytes {
        self.event.slice(self.rest as usize..self.metadata_end as usize)
    }

    /// The watch event of this kind for this object, as one piece or two.
    pub(crate) fn event(&self, kind: EventKind) -> (Option<Bytes>, Bytes) {
        if kind == self.kind {
            return (None, self.event.clone());
        }
        (
            Some(Bytes::from_static(kind.prefix().as_bytes())),
            self.event.slice(self.object as usize..),
        )
    }

    /// The object, decoded.
    pub(crate) fn value(&self) -> Value {
        // The bytes were written by `encode` from a `Value`; they read back.
        serde_json::from_slice(&self.json()).unwrap_or_default()
    }

    /// The same object said to be of another revision, as a watch shows one that no longer matches its selector.
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

    /// Bytes this version takes, its encoding included.
    pub(crate) fn size(&self) -> usize {
        size_of::<Stored>() + self.event.len()
    }
}

struct Marks {
    object: u32,
    rest: u32,
    metadata_end: u32,
}

/// Custom resources have their version first, as a real server prints them.
fn write_event(kind: EventKind, object: &Value, custom: bool) -> (Bytes, Marks) {
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
    // An exact allocation: the capacity a growing vector leaves behind would be kept as long as the object.
    let exact = BytesMut::from(out.as_slice()).freeze();
    (
        exact,
        Marks {
            object: start,
            rest,
            metadata_end,
        },
    )
}

fn write_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    // Writing JSON into memory fails only for maps with keys that are not text, which a `Value` cannot have.
    let _ = serde_json::to_writer(out, value);
}

fn text_pairs(map: Option<&Map<String, Value>>) -> Box<[(Box<str>, Box<str>)]> {
    map.into_iter()
        .flatten()
        .filter_map(|(k, v)| Some((k.as_str().into(), v.as_str()?.into())))
        .collect()
}
