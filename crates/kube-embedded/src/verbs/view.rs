//! How objects look to the client that asked: version, representation, and what a fault makes of them.

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

/// How objects look to the client that asked.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) resource: Arc<Resource>,
    pub(crate) representation: Representation,
    /// What rows of a table carry.
    pub(crate) include: IncludeObject,
    pub(crate) fault: ObjectFault,
}

impl View {
    /// Returns whether the stored bytes are the answer as they are.
    pub(crate) fn is_direct(&self) -> bool {
        self.representation.form == ObjectForm::Object
            && self.representation.encoding == Encoding::Json
            && !self.representation.pretty
            && self.is_plain()
    }

    /// Returns whether objects are shown as they are stored, and undisturbed. Custom resources are read by the schema
    /// of this moment.
    fn is_plain(&self) -> bool {
        self.resource.is_stored_version()
            && self.resource.custom().is_none()
            && self.fault == ObjectFault::None
    }

    /// Returns whether the answer is in protobuf.
    pub(crate) fn is_protobuf(&self) -> bool {
        self.representation.encoding == Encoding::Protobuf
    }

    /// The metadata of an object in JSON, cut from the stored bytes where they are the answer.
    pub(crate) fn direct_metadata(&self, object: &Stored) -> Option<Bytes> {
        let direct = self.representation.form == ObjectForm::Metadata
            && self.representation.encoding == Encoding::Json
            && !self.representation.pretty
            && self.fault == ObjectFault::None
            // These carry annotations that are not shown.
            && !matches!(self.resource.kind.as_str(), "DaemonSet" | "HorizontalPodAutoscaler");
        let head = br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","#;
        direct.then(|| [&head[..], &object.json_metadata(), b"}"].concat().into())
    }

    /// An object in protobuf, in its envelope.
    pub(crate) fn protobuf(&self, object: &Stored) -> Result<Bytes> {
        if self.is_plain()
            && self.representation.form == ObjectForm::Object
            && let Some(bytes) = object.protobuf()
        {
            return Ok(bytes.clone());
        }
        let untwisted = match self.representation.form {
            ObjectForm::Metadata => self.metadata_of(&object.value()),
            _ => self.versioned(object),
        };
        match self.fault.enveloped() {
            // Of a kind that does not exist there is no message, so only the envelope says it.
            Some(enveloped) => Ok(enveloped(&encode(&untwisted, self.representation)?)),
            None => encode(&twisted(untwisted, self.fault), self.representation),
        }
    }

    /// The object in the version that was asked for.
    pub(crate) fn versioned(&self, object: &Stored) -> Value {
        convert::from_stored(object.value(), &self.resource)
    }

    /// The object in the form that was asked for; not for tables.
    pub(crate) fn value(&self, object: &Stored) -> Value {
        let versioned = match self.representation.form {
            ObjectForm::Metadata => self.metadata_of(&object.value()),
            _ => self.versioned(object),
        };
        twisted(versioned, self.fault)
    }

    /// One object as a whole answer.
    pub(crate) fn answer(&self, object: &Stored) -> Result<Bytes> {
        if self.is_direct() {
            let mut out = object.json().to_vec();
            out.push(b'\n');
            return Ok(out.into());
        }
        if self.is_protobuf() {
            return self.protobuf(object);
        }
        let value = match self.representation.form {
            ObjectForm::Table => self.sheet(|sheet| sheet.single(&self.versioned(object))),
            _ => self.value(object),
        };
        encode(&value, self.representation)
    }

    /// An answer that has no stored object, such as a dry run or a review.
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

    /// What prints the resource as a table, if anything does.
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

    /// The scale of an object as a whole answer.
    pub(crate) fn scale_answer(&self, scale: &Value) -> Result<Bytes> {
        if self.representation.form != ObjectForm::Table {
            return self.answer_value(scale);
        }
        let printer = match self.resource.custom() {
            Some(_) => Some(Printer::custom(Columns::custom_scale())),
            None => Printer::built_in("autoscaling", "v1", "Scale"),
        };
        let sheet = printer.map(|printer| self.sheet_of(printer));
        encode(
            &sheet.map_or(Value::Null, |sheet| sheet.single(scale)),
            self.representation,
        )
    }

    fn sheet_of<'a>(&self, printer: Printer<'a>) -> TableBuilder<'a> {
        TableBuilder {
            printer,
            include: self.include,
            meta_version: self.representation.table_version,
            now: Timestamp::now(),
        }
    }

    /// A table; kinds without one have been refused before.
    pub(crate) fn sheet(&self, fill: impl FnOnce(&TableBuilder<'_>) -> Value) -> Value {
        self.printer()
            .map_or(Value::Null, |printer| fill(&self.sheet_of(printer)))
    }

    /// A watch event as it goes over the wire. `first` is whether it is the first of its watch.
    pub(crate) fn event(
        &self,
        kind: EventKind,
        object: &Stored,
        first: bool,
    ) -> Result<(Option<Bytes>, Bytes)> {
        if self.is_direct() {
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
            ObjectForm::Table => self.sheet(|sheet| sheet.event(&self.versioned(object), first)),
            _ => self.value(object),
        };
        Ok((None, event(kind.name(), &value)))
    }

    /// A bookmark at a revision, perhaps the one that ends the initial events.
    pub(crate) fn bookmark(&self, revision: u64, ends_initial_events: bool, first: bool) -> Result<Bytes> {
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if ends_initial_events {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let bare = json!({ "kind": self.resource.kind, "apiVersion": self.resource.api_version(), "metadata": metadata });
        let object = match self.representation.form {
            ObjectForm::Object | ObjectForm::Discovery => bare,
            ObjectForm::Metadata => self.metadata_of(&bare),
            ObjectForm::Table => self.sheet(|sheet| sheet.event(&bare, first)),
        };
        self.special_event("BOOKMARK", &object)
    }

    /// An event that is not about a stored object: a bookmark or an error.
    pub(crate) fn special_event(&self, kind: &str, object: &Value) -> Result<Bytes> {
        if self.is_protobuf() {
            return Ok(frame(kind, &encode(object, self.representation)?));
        }
        Ok(event(kind, object))
    }
}

/// A watch event in protobuf.
fn frame(kind: &str, object: &[u8]) -> Bytes {
    WatchEvent {
        event_type: kind,
        object,
    }
    .to_frame()
    .into()
}

/// A watch event of one line.
fn event(kind: &str, object: &Value) -> Bytes {
    let mut line = json!({ "type": kind, "object": object }).to_string();
    line.push('\n');
    line.into()
}

/// The table that a fault puts in the place of objects.
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
    /// What a fault makes of an object or list in protobuf, if it is about what that is called.
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

/// What a fault makes of an object.
fn twisted(mut object: Value, fault: ObjectFault) -> Value {
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
