//! Reads pages of lists while they arrive.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt;
use kube::client::Body;
use kube_wire::json::{self, Items};
use kube_wire::protobuf::{self, ListEvent, Schema};

use super::expected::ExpectedKind;
use super::http::cause;
use super::limits::{Limits, list_exceeded};
use super::{ListPart, RawObject};
use crate::error::Error;
use crate::object::{EncodedObject, Format, Kind, ResourceVersion, invalid_object};

/// A page of a list that is being read.
pub(super) struct ListPage {
    body: Body,
    reader: ItemReader,
    /// Number of received bytes.
    length: u64,
    max_length: u64,
    /// Whether the body has ended.
    ended: bool,
}

/// Parses the items of a page from its bytes.
pub(super) enum ItemReader {
    Json(JsonPage),
    Protobuf(ProtobufPage),
    /// The page was read, or failed.
    Done,
}

impl ListPage {
    pub(super) fn new(body: Body, reader: ItemReader, max_length: u64) -> ListPage {
        ListPage {
            body,
            reader,
            length: 0,
            max_length,
            ended: false,
        }
    }

    /// Returns the next part, or `None` after the end or an error.
    pub(super) async fn next<K: Kind>(mut self) -> Option<(Result<ListPart<K>, Error>, ListPage)> {
        let part = self.part().await.transpose()?;
        if part.is_err() {
            self.reader = ItemReader::Done;
        }
        Some((part, self))
    }

    async fn part<K: Kind>(&mut self) -> Result<Option<ListPart<K>>, Error> {
        if let Some(item) = self.reader.item()? {
            return Ok(Some(ListPart::Object(item)));
        }
        if self.ended {
            let reader = std::mem::replace(&mut self.reader, ItemReader::Done);
            return reader.end();
        }
        match self.body.frame().await {
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    self.length += data.len() as u64;
                    if self.length > self.max_length {
                        return Err(list_exceeded(self.max_length));
                    }
                    self.reader.push(data);
                }
                Ok(Some(match self.reader.item()? {
                    Some(item) => ListPart::Object(item),
                    None => ListPart::Progress,
                }))
            }
            Some(Err(error)) => Err(Error::transport(
                "connection lost while reading a list",
                cause(error),
            )),
            None => {
                self.ended = true;
                Box::pin(self.part()).await
            }
        }
    }
}

impl ItemReader {
    fn push(&mut self, piece: Bytes) {
        match self {
            ItemReader::Json(page) => page.push(piece),
            ItemReader::Protobuf(page) => page.push(piece),
            ItemReader::Done => {}
        }
    }

    fn item<K: Kind>(&mut self) -> Result<Option<RawObject<K>>, Error> {
        match self {
            ItemReader::Json(page) => page.item(),
            ItemReader::Protobuf(page) => page.item(),
            ItemReader::Done => Ok(None),
        }
    }

    fn end<K>(self) -> Result<Option<ListPart<K>>, Error> {
        match self {
            ItemReader::Json(page) => page.end().map(Some),
            ItemReader::Protobuf(page) => page.end().map(Some),
            ItemReader::Done => Ok(None),
        }
    }
}

/// Creates the end of a page from its metadata.
fn end<K>(version: Option<&str>, continue_token: Option<String>) -> Result<ListPart<K>, Error> {
    let version = ResourceVersion::from_metadata(version)
        .ok_or_else(|| Error::bad_data("invalid list: `metadata.resourceVersion` is missing or zero"))?;
    Ok(ListPart::End {
        version,
        continue_token: continue_token.filter(|token| !token.is_empty()),
    })
}

/// A page in JSON.
///
/// The type of the list may be before or after the items: Kubernetes sorts the fields of lists of custom
/// resources. A page is not used before its end, so its type is checked at the end at the latest. Items with
/// a type are checked at once.
pub(super) struct JsonPage {
    reader: json::ListReader,
    limits: Limits,
    expected: Arc<ExpectedKind>,
    /// Whether every item so far has a type.
    items_typed: bool,
    checked: bool,
    /// Whether the list has the standard name for its kind, so that its items need no type.
    has_standard_kind: bool,
}

impl JsonPage {
    pub(super) fn new(expected: Arc<ExpectedKind>, limits: Limits) -> JsonPage {
        JsonPage {
            reader: json::ListReader::new(limits.object),
            limits,
            expected,
            items_typed: true,
            checked: false,
            has_standard_kind: false,
        }
    }

    pub(super) fn push(&mut self, piece: Bytes) {
        self.reader.push(piece);
    }

    pub(super) fn item<K: Kind>(&mut self) -> Result<Option<RawObject<K>>, Error> {
        let Some(text) = self
            .reader
            .next_item()
            .map_err(|error| json_list_error(error, self.limits))?
        else {
            return Ok(None);
        };
        let list = self.reader.head();
        if !self.checked && list.kind.is_some() && list.api_version.is_some() {
            self.checked = true;
            let (api_version, kind) = (list.api_version.as_deref(), list.kind.as_deref());
            check_list(&self.expected, api_version, kind, true)?;
            self.has_standard_kind = self.expected.check(api_version, kind, true).is_ok();
        }
        // Items of built-in kinds have no type, and finding that out takes reading the whole item.
        let item = if self.has_standard_kind {
            let identity = json::identity(&text).unwrap_or_default();
            RawObject::with_identity(&identity, EncodedObject::json(&text))
                .or_else(|_| self.typed_item(&text))
        } else {
            self.typed_item(&text)
        };
        item.map(Some)
    }

    /// Parses an item and checks its type, if it has one.
    fn typed_item<K: Kind>(&mut self, text: &Bytes) -> Result<RawObject<K>, Error> {
        let head = json::head(text).map_err(invalid_object)?;
        self.items_typed &= head.kind.is_some() && head.api_version.is_some();
        self.expected
            .check(head.api_version.as_deref(), head.kind.as_deref(), false)?;
        RawObject::with_identity(&head.identity.unwrap_or_default(), EncodedObject::json(text))
    }

    pub(super) fn end<K>(self) -> Result<ListPart<K>, Error> {
        let limits = self.limits;
        let list = self
            .reader
            .finish()
            .map_err(|error| json_list_error(error, limits))?;
        let (api_version, kind) = (list.api_version.as_deref(), list.kind.as_deref());
        check_list(&self.expected, api_version, kind, self.items_typed)?;
        if list.items == Items::Missing {
            return Err(Error::bad_data("invalid list: `items` is missing"));
        }
        end(list.resource_version.as_deref(), list.continue_token)
    }
}

/// Checks the type of a list. Lists of custom kinds may have any name if their items have a type.
fn check_list(
    expected: &ExpectedKind,
    api_version: Option<&str>,
    kind: Option<&str>,
    typed_items: bool,
) -> Result<(), Error> {
    match expected.check(api_version, kind, true) {
        Err(_) if typed_items && expected.allows_list_kind(api_version, kind) => Ok(()),
        checked => checked,
    }
}

fn json_list_error(error: json::Error, limits: Limits) -> Error {
    if error.is_too_long() {
        return Error::bad_data_from(limits.object_exceeded("object in list"), error);
    }
    Error::bad_data_from("invalid JSON list", error)
}

/// A page in protobuf.
pub(super) struct ProtobufPage {
    reader: protobuf::ListReader,
    limits: Limits,
    expected: Arc<ExpectedKind>,
    schema: Schema,
    checked: bool,
}

impl ProtobufPage {
    pub(super) fn new(expected: Arc<ExpectedKind>, schema: Schema, limits: Limits) -> ProtobufPage {
        ProtobufPage {
            reader: protobuf::ListReader::new(limits.object),
            limits,
            expected,
            schema,
            checked: false,
        }
    }

    pub(super) fn push(&mut self, piece: Bytes) {
        self.reader.push(piece);
    }

    pub(super) fn item<K: Kind>(&mut self) -> Result<Option<RawObject<K>>, Error> {
        loop {
            match self
                .reader
                .next()
                .map_err(|error| protobuf_list_error(error, self.limits))?
            {
                None => return Ok(None),
                Some(ListEvent::Head { api_version, kind }) => {
                    self.expected.check(Some(&api_version), Some(&kind), true)?;
                    self.checked = true;
                }
                Some(ListEvent::Item(_)) if !self.checked => {
                    return Err(Error::bad_data("list has no `kind` or `apiVersion`"));
                }
                Some(ListEvent::Item(message)) => {
                    let encoded = EncodedObject {
                        format: Format::Protobuf(self.schema),
                        bytes: message,
                    };
                    return RawObject::encoded(encoded).map(Some);
                }
            }
        }
    }

    pub(super) fn end<K>(self) -> Result<ListPart<K>, Error> {
        let limits = self.limits;
        let list = self
            .reader
            .finish()
            .map_err(|error| protobuf_list_error(error, limits))?;
        if !self.checked {
            return Err(Error::bad_data("list has no `kind` or `apiVersion`"));
        }
        end(Some(&list.resource_version), Some(list.continue_token))
    }
}

fn protobuf_list_error(error: protobuf::Error, limits: Limits) -> Error {
    if error.is_over_limit() {
        return Error::bad_data_from(limits.object_exceeded("object in list"), error);
    }
    Error::bad_data_from("invalid protobuf list", error)
}
