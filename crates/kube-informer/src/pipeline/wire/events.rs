//! Reads the events of a watch while they arrive.

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
use crate::object::{EncodedObject, Format, Kind, ResourceVersion};

/// The annotation of the bookmark that ends the initial events of a streaming list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Reads the events of a watch response.
pub(super) struct EventReader {
    body: Body,
    frames: EventFrames,
    expected: Arc<ExpectedKind>,
    limits: Limits,
}

/// Splits a response body into events.
pub(super) enum EventFrames {
    /// One event per line.
    Json(json::LineReader),
    /// Length-delimited events.
    Protobuf(protobuf::FrameReader, Schema),
}

impl EventFrames {
    /// Creates the splitter for a body, which is in protobuf if there is a schema.
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

    /// Returns the next event, or `None` at the end.
    pub(super) async fn next<K: Kind>(&mut self) -> Option<Result<WatchEvent<K>, Error>> {
        loop {
            if let Some(event) = self.buffered_event().transpose() {
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
                Some(Err(error)) => {
                    return Some(Err(Error::transport(
                        "connection lost while reading a watch",
                        cause(error),
                    )));
                }
                None => return self.final_event(),
            }
        }
    }

    fn buffered_event<K: Kind>(&mut self) -> Result<Option<WatchEvent<K>>, Error> {
        let limits = self.limits;
        match &mut self.frames {
            EventFrames::Json(lines) => match lines
                .next_line()
                .map_err(|error| event_limit_error(error, limits))?
            {
                Some(line) => json_event(&line, &self.expected).map(Some),
                None => Ok(None),
            },
            EventFrames::Protobuf(frames, schema) => {
                match frames.next().map_err(|error| event_limit_error(error, limits))? {
                    Some(frame) => protobuf_event(&frame, *schema, &self.expected).map(Some),
                    None => Ok(None),
                }
            }
        }
    }

    /// Returns the rest at the end of the body. The last line may lack its line break; an incomplete event
    /// means that the connection was lost.
    fn final_event<K: Kind>(&mut self) -> Option<Result<WatchEvent<K>, Error>> {
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
            "connection lost while reading a watch event",
            cause,
        )))
    }
}

fn event_limit_error(error: impl std::error::Error + Send + Sync + 'static, limits: Limits) -> Error {
    Error::bad_data_from(limits.object_exceeded("watch event"), error)
}

/// The metadata of a bookmark.
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
        let version = ResourceVersion::from_metadata(self.resource_version.as_deref()).ok_or_else(|| {
            Error::bad_data("invalid bookmark: `metadata.resourceVersion` is missing or zero")
        })?;
        let annotations = self.annotations.unwrap_or_default();
        Ok(WatchEvent::Bookmark {
            version,
            initial_events_end: annotations
                .get(INITIAL_EVENTS_END)
                .is_some_and(|value| value == "true"),
        })
    }
}

/// Creates the event of a type for an object.
fn object_event<K>(event_type: &str, item: RawObject<K>) -> WatchEvent<K> {
    match event_type {
        "ADDED" => WatchEvent::Added(item),
        "MODIFIED" => WatchEvent::Modified(item),
        _ => WatchEvent::Deleted(item),
    }
}

/// Parses one line of a watch.
pub(super) fn json_event<K: Kind>(line: &Bytes, expected: &ExpectedKind) -> Result<WatchEvent<K>, Error> {
    let event = json::watch_event(line).map_err(|error| {
        Error::bad_data_from(format!("invalid JSON watch event ({} bytes)", line.len()), error)
    })?;
    match &*event.event_type {
        event_type @ ("ADDED" | "MODIFIED" | "DELETED") => {
            let head = json::head(event.object)
                .map_err(|error| Error::bad_data_from("invalid object in watch event", error))?;
            expected.check(head.api_version.as_deref(), head.kind.as_deref(), false)?;
            let identity = head
                .identity
                .ok_or_else(|| Error::bad_data("invalid watch event: `object.metadata` is missing"))?;
            let encoded = EncodedObject {
                format: Format::Json,
                bytes: line.slice_ref(event.object),
            };
            RawObject::with_identity(&identity, encoded).map(|item| object_event(event_type, item))
        }
        "BOOKMARK" => json::metadata::<BookmarkMeta>(event.object, &FieldMask::none())
            .map_err(|error| Error::bad_data_from("invalid bookmark metadata", error))?
            .event(),
        "ERROR" => {
            let status = json::decode::<kube::core::Status>(event.object, &FieldMask::none());
            let status = status.map_err(|error| {
                Error::bad_data_from("invalid Status in watch event of type ERROR", error)
            })?;
            Ok(WatchEvent::Failure(status_error(status, 0)))
        }
        other => Err(unknown_event_type(other)),
    }
}

/// Parses one frame of a watch.
pub(super) fn protobuf_event<K: Kind>(
    frame: &Bytes,
    schema: Schema,
    expected: &ExpectedKind,
) -> Result<WatchEvent<K>, Error> {
    let invalid_event = |error| {
        Error::bad_data_from(
            format!("invalid protobuf watch event ({} bytes)", frame.len()),
            error,
        )
    };
    let event = protobuf::WatchEvent::parse(frame).map_err(invalid_event)?;
    let object = Envelope::parse(event.object).map_err(invalid_event)?;
    match event.event_type {
        event_type @ ("ADDED" | "MODIFIED" | "DELETED") => {
            expected.check(Some(object.api_version), Some(object.kind), false)?;
            let item = RawObject::encoded(EncodedObject {
                format: Format::Protobuf(schema),
                bytes: frame.slice_ref(object.raw),
            })?;
            Ok(object_event(event_type, item))
        }
        "BOOKMARK" => {
            expected.check(Some(object.api_version), Some(object.kind), false)?;
            schema
                .metadata::<BookmarkMeta>(object.raw, &FieldMask::none())
                .map_err(|error| Error::bad_data_from("invalid bookmark metadata", error))?
                .event()
        }
        "ERROR" => {
            let status = if (object.api_version, object.kind) == ("v1", "Status") {
                status_schema().decode::<kube::core::Status>(object.raw, &FieldMask::none())
            } else {
                return Err(Error::bad_data(format!(
                    "unexpected {} {} in watch event of type ERROR: expected v1 Status",
                    object.api_version, object.kind
                )));
            };
            let status = status.map_err(|error| {
                Error::bad_data_from("invalid Status in watch event of type ERROR", error)
            })?;
            Ok(WatchEvent::Failure(status_error(status, 0)))
        }
        other => Err(unknown_event_type(other)),
    }
}

fn unknown_event_type(event_type: &str) -> Error {
    Error::bad_data(format!("unknown watch event type {event_type:?}"))
}
