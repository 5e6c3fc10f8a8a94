//! The events of a watch, read while they arrive.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt;
use kube::client::Body;
use kube_wire::protobuf::{self, Envelope, Schema};
use kube_wire::{FieldMask, json};
use serde::Deserialize;

use super::expected::ExpectedKind;
use super::http::cause;
use super::limits::Limits;
use super::status::{status_error, status_schema};
use super::{RawObject, WatchEvent};
use crate::error::Error;
use crate::object::{Encoded, Format, Kind, ResourceVersion};

/// The annotation of the bookmark that ends the initial events of a streaming list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// The events of a watch's body.
pub(super) struct EventReader {
    body: Body,
    frames: EventFrames,
    expected: Arc<ExpectedKind>,
    limits: Limits,
}

/// What cuts a body into events.
pub(super) enum EventFrames {
    /// One a line.
    Json(json::LineReader),
    /// Each with its length before it.
    Protobuf(protobuf::FrameReader, Schema),
}

impl EventFrames {
    /// What reads the events of a body, in protobuf if there is a schema.
    pub(super) fn of(schema: Option<Schema>, limits: Limits) -> EventFrames {
        match schema {
            Some(schema) => EventFrames::Protobuf(protobuf::FrameReader::new(limits.object), schema),
            None => EventFrames::Json(json::LineReader::new(limits.object)),
        }
    }
}

impl EventReader {
    pub(super) fn new(
        body: Body,
        schema: Option<Schema>,
        expected: Arc<ExpectedKind>,
        limits: Limits,
    ) -> EventReader {
        EventReader {
            body,
            frames: EventFrames::of(schema, limits),
            expected,
            limits,
        }
    }

    /// The next event; none at the end.
    pub(super) async fn next<K: Kind>(&mut self) -> Option<Result<WatchEvent<K>, Error>> {
        loop {
            if let Some(event) = self.arrived().transpose() {
                return Some(event);
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        match &mut self.frames {
                            EventFrames::Json(lines) => lines.push(data),
                            EventFrames::Protobuf(frames, _) => frames.push(data),
                        }
                    }
                }
                Some(Err(error)) => return Some(Err(Error::transport("the watch broke", cause(error)))),
                None => return self.last(),
            }
        }
    }

    fn arrived<K: Kind>(&mut self) -> Result<Option<WatchEvent<K>>, Error> {
        let limits = self.limits;
        match &mut self.frames {
            EventFrames::Json(lines) => match lines.next_line().map_err(|error| too_long(error, limits))? {
                Some(line) => json_event(&line, &self.expected).map(Some),
                None => Ok(None),
            },
            EventFrames::Protobuf(frames, schema) => {
                match frames.next().map_err(|error| too_long(error, limits))? {
                    Some(frame) => protobuf_event(&frame, *schema, &self.expected).map(Some),
                    None => Ok(None),
                }
            }
        }
    }

    /// What is left at the end of the body. A last line may lack its end; half an event is a broken connection, not bad
    /// data.
    fn last<K: Kind>(&mut self) -> Option<Result<WatchEvent<K>, Error>> {
        match &mut self.frames {
            EventFrames::Json(lines) => {
                let rest = lines.rest()?;
                if serde_json::from_slice::<serde::de::IgnoredAny>(&rest).is_ok() {
                    return Some(json_event(&rest, &self.expected));
                }
            }
            EventFrames::Protobuf(frames, _) if frames.finish().is_ok() => return None,
            EventFrames::Protobuf(..) => {}
        }
        let cause = io::Error::from(io::ErrorKind::UnexpectedEof);
        Some(Err(Error::transport(
            "the watch ended in the middle of an event",
            cause,
        )))
    }
}

fn too_long(error: impl std::error::Error + Send + Sync + 'static, limits: Limits) -> Error {
    Error::bad_data_from(limits.object_exceeded("a watch event"), error)
}

/// What a bookmark says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMeta {
    #[serde(default)]
    resource_version: Option<String>,
    #[serde(default)]
    annotations: Option<std::collections::BTreeMap<String, String>>,
}

impl BookmarkMeta {
    fn event<K>(self) -> Result<WatchEvent<K>, Error> {
        let version = ResourceVersion::from_metadata(self.resource_version.as_deref())
            .ok_or_else(|| Error::bad_data("a bookmark without metadata.resourceVersion"))?;
        let annotations = self.annotations.unwrap_or_default();
        Ok(WatchEvent::Bookmark {
            version,
            initial_events_end: annotations
                .get(INITIAL_EVENTS_END)
                .is_some_and(|value| value == "true"),
        })
    }
}

/// What happened to an object.
fn changed<K>(event_type: &str, item: RawObject<K>) -> WatchEvent<K> {
    match event_type {
        "ADDED" => WatchEvent::Added(item),
        "MODIFIED" => WatchEvent::Modified(item),
        _ => WatchEvent::Deleted(item),
    }
}

/// One line of a watch.
pub(super) fn json_event<K: Kind>(line: &Bytes, expected: &ExpectedKind) -> Result<WatchEvent<K>, Error> {
    let event = json::watch_event(line).map_err(|error| {
        Error::bad_data_from(
            format!("a watch event that is not JSON ({} bytes)", line.len()),
            error,
        )
    })?;
    match &*event.event_type {
        event_type @ ("ADDED" | "MODIFIED" | "DELETED") => {
            let head = json::head(event.object).map_err(|error| {
                Error::bad_data_from("a watch event without an object of Kubernetes", error)
            })?;
            expected.check(head.api_version.as_deref(), head.kind.as_deref(), false)?;
            let identity = head
                .identity
                .ok_or_else(|| Error::bad_data("a watch event whose object has no metadata"))?;
            let encoded = Encoded {
                format: Format::Json,
                bytes: line.slice_ref(event.object),
            };
            RawObject::known(&identity, encoded).map(|item| changed(event_type, item))
        }
        "BOOKMARK" => json::metadata::<BookmarkMeta>(event.object, &FieldMask::none())
            .map_err(|error| Error::bad_data_from("a bookmark without metadata", error))?
            .event(),
        "ERROR" => {
            let status = json::decode::<kube::core::Status>(event.object, &FieldMask::none());
            let status = status.map_err(|error| {
                Error::bad_data_from("a failure in the watch that is not a Status", error)
            })?;
            Ok(WatchEvent::Failure(status_error(status, 0)))
        }
        other => Err(unknown(other)),
    }
}

/// One frame of a watch.
pub(super) fn protobuf_event<K: Kind>(
    frame: &Bytes,
    schema: Schema,
    expected: &ExpectedKind,
) -> Result<WatchEvent<K>, Error> {
    let no_event = |error| {
        Error::bad_data_from(
            format!("a watch event that is not protobuf ({} bytes)", frame.len()),
            error,
        )
    };
    let event = protobuf::WatchEvent::parse(frame).map_err(no_event)?;
    let object = Envelope::parse(event.object).map_err(no_event)?;
    match event.event_type {
        event_type @ ("ADDED" | "MODIFIED" | "DELETED") => {
            expected.check(Some(object.api_version), Some(object.kind), false)?;
            let item = RawObject::encoded(Encoded {
                format: Format::Protobuf(schema),
                bytes: frame.slice_ref(object.raw),
            })?;
            Ok(changed(event_type, item))
        }
        "BOOKMARK" => {
            expected.check(Some(object.api_version), Some(object.kind), false)?;
            schema
                .metadata::<BookmarkMeta>(object.raw, &FieldMask::none())
                .map_err(|error| Error::bad_data_from("a bookmark without metadata", error))?
                .event()
        }
        "ERROR" => {
            let status = if (object.api_version, object.kind) == ("v1", "Status") {
                status_schema().decode::<kube::core::Status>(object.raw, &FieldMask::none())
            } else {
                return Err(Error::bad_data(format!(
                    "{} {} as a failure in the watch, which is not a Status",
                    object.api_version, object.kind
                )));
            };
            let status = status.map_err(|error| {
                Error::bad_data_from("a failure in the watch that is not a Status", error)
            })?;
            Ok(WatchEvent::Failure(status_error(status, 0)))
        }
        other => Err(unknown(other)),
    }
}

fn unknown(event_type: &str) -> Error {
    Error::bad_data(format!("a watch event of the unknown type {event_type:?}"))
}
