//! Encodes objects for a client: version, representation, and injected faults.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use kube_table::Columns;
use kube_wire::protobuf::{Envelope, WatchEvent};
use serde_json::{Value, json};

use crate::api::Resource;
use crate::convert;
use crate::faults::ObjectFault;
use crate::request::{Encoding, ObjectForm, Representation};
use crate::response::encode;
use crate::status::Result;
use crate::store::{EventKind, Stored};
use crate::table::{IncludeObject, Printer, TableBuilder, partial_metadata};

/// The form of objects in the responses to a request.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) resource: Arc<Resource>,
    pub(crate) representation: Representation,
    /// The objects in the rows of tables.
    pub(crate) include: IncludeObject,
    pub(crate) fault: ObjectFault,
}

impl View {
    /// Returns whether responses consist of the stored bytes of objects that are [current](View::is_current).
    pub(crate) fn is_direct(&self) -> bool {
        self.representation.form == ObjectForm::Object
            && self.representation.encoding == Encoding::Json
            && !self.representation.pretty
            && self.is_plain()
    }

    /// Returns whether current objects are returned as stored, without faults.
    fn is_plain(&self) -> bool {
        self.resource.is_stored_version() && self.fault == ObjectFault::None
    }

    /// Returns whether an object is pruned and defaulted by the current schema of its kind.
    pub(crate) fn is_current(&self, object: &Stored) -> bool {
        object.is_of_schema(self.resource.schema_hash())
    }

    /// Returns whether the response is in protobuf.
    pub(crate) fn is_protobuf(&self) -> bool {
        self.representation.encoding == Encoding::Protobuf
    }

    /// Returns the metadata of an object in JSON as a slice of the stored bytes, if the response consists of it.
    pub(crate) fn direct_metadata(&self, object: &Stored) -> Option<Bytes> {
        let direct = self.representation.form == ObjectForm::Metadata
            && self.representation.encoding == Encoding::Json
            && !self.representation.pretty
            && self.fault == ObjectFault::None
            // These have annotations that are not returned.
            && !matches!(self.resource.kind.as_str(), "DaemonSet" | "HorizontalPodAutoscaler");
        let head = br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","#;
        direct.then(|| [&head[..], &object.json_metadata(), b"}"].concat().into())
    }

    /// Encodes an object as protobuf with its envelope.
    pub(crate) fn protobuf(&self, object: &Stored) -> Result<Bytes> {
        if self.is_plain()
            && self.is_current(object)
            && self.representation.form == ObjectForm::Object
            && let Some(bytes) = object.protobuf()
        {
            return Ok(bytes.clone());
        }
        let versioned = match self.representation.form {
            ObjectForm::Metadata => self.metadata_of(&object.value()),
            _ => self.versioned(object),
        };
        match self.fault.enveloped() {
            // The wrong kind has no protobuf message, so that only the envelope contains it.
            Some(enveloped) => Ok(enveloped(&encode(&versioned, self.representation)?)),
            None => encode(&with_fault(versioned, self.fault), self.representation),
        }
    }

    /// Returns the object in the requested version.
    pub(crate) fn versioned(&self, object: &Stored) -> Value {
        convert::from_stored(object, &self.resource)
    }

    /// Returns the object in the requested form, except for tables.
    pub(crate) fn value(&self, object: &Stored) -> Value {
        let versioned = match self.representation.form {
            ObjectForm::Metadata => self.metadata_of(&object.value()),
            _ => self.versioned(object),
        };
        with_fault(versioned, self.fault)
    }

    /// Encodes an object as a response.
    pub(crate) fn answer(&self, object: &Stored) -> Result<Bytes> {
        if self.is_direct() && self.is_current(object) {
            let mut out = object.json().to_vec();
            out.push(b'\n');
            return Ok(out.into());
        }
        if self.is_protobuf() {
            return self.protobuf(object);
        }
        let value = match self.representation.form {
            ObjectForm::Table => self.table(|builder| builder.single(&self.versioned(object))),
            _ => self.value(object),
        };
        encode(&value, self.representation)
    }

    /// Encodes a response without a stored object, for example of a dry run or a review.
    pub(crate) fn answer_value(&self, value: &Value) -> Result<Bytes> {
        let value = match self.representation.form {
            ObjectForm::Metadata => &self.metadata_of(value),
            _ => value,
        };
        encode(value, self.representation)
    }

    fn metadata_of(&self, object: &Value) -> Value {
        let Resource {
            group, version, kind, ..
        } = &*self.resource;
        partial_metadata(group, version, kind, object, "v1")
    }

    /// Returns the printer for tables of the resource, if it has one.
    pub(crate) fn printer(&self) -> Option<Printer<'_>> {
        let Resource {
            group, version, kind, ..
        } = &*self.resource;
        match self.resource.custom() {
            Some(custom) => custom
                .version(version)
                .map(|version| Printer::custom(version.columns.clone())),
            None => Printer::built_in(group, version, kind),
        }
    }

    /// Encodes the scale of an object as a response.
    pub(crate) fn scale_answer(&self, scale: &Value) -> Result<Bytes> {
        if self.representation.form != ObjectForm::Table {
            return self.answer_value(scale);
        }
        let printer = match self.resource.custom() {
            Some(_) => Some(Printer::custom(Columns::custom_scale())),
            None => Printer::built_in("autoscaling", "v1", "Scale"),
        };
        let builder = printer.map(|printer| self.table_builder(printer));
        let table = builder.map_or(Value::Null, |builder| builder.single(scale));
        encode(&table, self.representation)
    }

    fn table_builder<'a>(&self, printer: Printer<'a>) -> TableBuilder<'a> {
        TableBuilder {
            printer,
            include: self.include,
            meta_version: self.representation.table_version,
            now: Timestamp::now(),
        }
    }

    /// Builds a table. Requests for tables of kinds without a printer were rejected before.
    pub(crate) fn table(&self, build: impl FnOnce(&TableBuilder<'_>) -> Value) -> Value {
        self.printer()
            .map_or(Value::Null, |printer| build(&self.table_builder(printer)))
    }

    /// Encodes a watch event in one or two parts. `first` is whether it is the first of its watch.
    pub(crate) fn event(
        &self,
        kind: EventKind,
        object: &Stored,
        first: bool,
    ) -> Result<(Option<Bytes>, Bytes)> {
        if self.is_direct() && self.is_current(object) {
            return Ok(object.event(kind));
        }
        if let Some(metadata) = self.direct_metadata(object) {
            return Ok((
                None,
                [kind.prefix().as_bytes(), &metadata, b"}\n"].concat().into(),
            ));
        }
        if self.is_protobuf() {
            return Ok((None, frame(kind.name(), &self.protobuf(object)?)));
        }
        let value = match self.representation.form {
            ObjectForm::Table => self.table(|builder| builder.event(&self.versioned(object), first)),
            _ => self.value(object),
        };
        Ok((None, event(kind.name(), &value)))
    }

    /// Encodes a bookmark at a revision. `ends_initial_events` marks the end of the initial events.
    pub(crate) fn bookmark(&self, revision: u64, ends_initial_events: bool, first: bool) -> Result<Bytes> {
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if ends_initial_events {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let bare = json!({ "kind": self.resource.kind, "apiVersion": self.resource.api_version(), "metadata": metadata });
        let object = match self.representation.form {
            ObjectForm::Object | ObjectForm::Discovery => bare,
            ObjectForm::Metadata => self.metadata_of(&bare),
            ObjectForm::Table => self.table(|builder| builder.event(&bare, first)),
        };
        self.special_event("BOOKMARK", &object)
    }

    /// Encodes an event without a stored object: a bookmark or an error.
    pub(crate) fn special_event(&self, kind: &str, object: &Value) -> Result<Bytes> {
        if self.is_protobuf() {
            return Ok(frame(kind, &encode(object, self.representation)?));
        }
        Ok(event(kind, object))
    }
}

/// Encodes a watch event as protobuf.
fn frame(kind: &str, object: &[u8]) -> Bytes {
    WatchEvent {
        event_type: kind,
        object,
    }
    .to_frame()
    .into()
}

/// Encodes a watch event as a line of JSON.
fn event(kind: &str, object: &Value) -> Bytes {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n").into()
}

/// Returns the table that a fault returns instead of objects.
pub(super) fn unwanted_table(metadata: &Value) -> Value {
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [],
        "rows": [],
    })
}

impl ObjectFault {
    /// Returns the function that changes the envelope of an object or list in protobuf, if the fault changes its kind.
    pub(super) fn enveloped(self) -> Option<fn(&[u8]) -> Bytes> {
        match self {
            ObjectFault::WrongKind => Some(|bytes| {
                let raw = Envelope::parse(bytes).map_or(&[][..], |envelope| envelope.raw);
                Envelope::new("wrong.example/v1", "Wrong", raw).to_bytes().into()
            }),
            ObjectFault::Table => Some(|_| Envelope::new("meta.k8s.io/v1", "Table", b"").to_bytes().into()),
            ObjectFault::None | ObjectFault::NoMetadata | ObjectFault::Oversized(_) => None,
        }
    }
}

/// Applies a fault to an object.
fn with_fault(mut object: Value, fault: ObjectFault) -> Value {
    match fault {
        ObjectFault::None => {}
        ObjectFault::WrongKind => {
            object["kind"] = "Wrong".into();
            object["apiVersion"] = "wrong.example/v1".into();
        }
        ObjectFault::NoMetadata => {
            if let Some(fields) = object.as_object_mut() {
                fields.remove("metadata");
            }
        }
        ObjectFault::Table => {
            object = unwanted_table(&json!({}));
        }
        ObjectFault::Oversized(bytes) => {
            object["metadata"]["annotations"]["kube-embedded/padding"] = "x".repeat(bytes).into();
        }
    }
    object
}
