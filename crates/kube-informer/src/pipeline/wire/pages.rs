//! Pages of lists, read while they arrive.

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
use crate::object::{Encoded, Format, Kind, ResourceVersion, invalid_object};

/// A page of a list on its way.
pub(super) struct ListPage {
    body: Body,
    reader: ItemReader,
    /// How many bytes have come.
    length: u64,
    longest: u64,
    /// Nothing comes any more.
    ended: bool,
}

/// What makes items of a page's bytes, as they come.
pub(super) enum ItemReader {
    Json(JsonPage),
    Protobuf(ProtobufPage),
    /// The page is through, or it failed.
    Done,
}

impl ListPage {
    pub(super) fn new(body: Body, reader: ItemReader, longest: u64) -> ListPage {
        ListPage {
            body,
            reader,
            length: 0,
            longest,
            ended: false,
        }
    }

    /// The next part; none after the end, and after an error.
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
                    if self.length > self.longest {
                        return Err(list_exceeded(self.longest));
                    }
                    self.reader.push(data);
                }
                Ok(Some(match self.reader.item()? {
                    Some(item) => ListPart::Object(item),
                    None => ListPart::Progress,
                }))
            }
            Some(Err(error)) => Err(Error::transport("a list broke off", cause(error))),
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

/// The end of a page, from what its metadata says.
fn end<K>(version: Option<&str>, continue_token: Option<String>) -> Result<ListPart<K>, Error> {
    let version = ResourceVersion::from_metadata(version)
        .ok_or_else(|| Error::bad_data("a list without metadata.resourceVersion"))?;
    Ok(ListPart::End {
        version,
        continue_token: continue_token.filter(|token| !token.is_empty()),
    })
}

/// A page in JSON.
///
/// What the list is called may come before its items or after them: Kubernetes sorts the fields of a list of custom
/// resources. Nothing of a page is used before its end, so it is early enough to look then; an item that says itself what
/// it is, is checked at once.
pub(super) struct JsonPage {
    reader: json::ListReader,
    limits: Limits,
    expected: Arc<ExpectedKind>,
    /// Every item so far has said what it is.
    typed: bool,
    checked: bool,
    /// It has the name that a list of the kind has, so what its items are is said.
    is_called_so: bool,
}

impl JsonPage {
    pub(super) fn new(expected: Arc<ExpectedKind>, limits: Limits) -> JsonPage {
        JsonPage {
            reader: json::ListReader::new(limits.object),
            limits,
            expected,
            typed: true,
            checked: false,
            is_called_so: false,
        }
    }

    pub(super) fn push(&mut self, piece: Bytes) {
        self.reader.push(piece);
    }

    pub(super) fn item<K: Kind>(&mut self) -> Result<Option<RawObject<K>>, Error> {
        let Some(text) = self
            .reader
            .next_item()
            .map_err(|error| broken(error, self.limits))?
        else {
            return Ok(None);
        };
        let list = self.reader.head();
        if !self.checked && list.kind.is_some() && list.api_version.is_some() {
            self.checked = true;
            let (api_version, kind) = (list.api_version.as_deref(), list.kind.as_deref());
            check_list(&self.expected, api_version, kind, true)?;
            self.is_called_so = self.expected.check(api_version, kind, true).is_ok();
        }
        // Items of Kubernetes' own kinds do not say what they are, and to know that takes reading them to their end.
        let item = if self.is_called_so {
            let identity = json::identity(&text).unwrap_or_default();
            RawObject::known(&identity, Encoded::json(&text)).or_else(|_| self.typed_item(&text))
        } else {
            self.typed_item(&text)
        };
        item.map(Some)
    }

    /// An item that has to be what was asked for, if it says what it is.
    fn typed_item<K: Kind>(&mut self, text: &Bytes) -> Result<RawObject<K>, Error> {
        let head = json::head(text).map_err(invalid_object)?;
        self.typed &= head.kind.is_some() && head.api_version.is_some();
        self.expected
            .check(head.api_version.as_deref(), head.kind.as_deref(), false)?;
        RawObject::known(&head.identity.unwrap_or_default(), Encoded::json(text))
    }

    pub(super) fn end<K>(self) -> Result<ListPart<K>, Error> {
        let limits = self.limits;
        let list = self.reader.finish().map_err(|error| broken(error, limits))?;
        let (api_version, kind) = (list.api_version.as_deref(), list.kind.as_deref());
        check_list(&self.expected, api_version, kind, self.typed)?;
        if list.items == Items::Missing {
            return Err(Error::bad_data("a list without items"));
        }
        end(list.resource_version.as_deref(), list.continue_token)
    }
}

/// A list of a custom kind may have a name of its own, if its items say what they are.
fn check_list(
    expected: &ExpectedKind,
    api_version: Option<&str>,
    kind: Option<&str>,
    typed_items: bool,
) -> Result<(), Error> {
    match expected.check(api_version, kind, true) {
        Err(_) if typed_items && expected.may_be_called(api_version, kind) => Ok(()),
        checked => checked,
    }
}

fn broken(error: json::Error, limits: Limits) -> Error {
    if error.is_too_long() {
        return Error::bad_data_from(limits.object_exceeded("a list with an object"), error);
    }
    Error::bad_data_from("a list that is not whole JSON", error)
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
            match self.reader.next().map_err(|error| no_list(error, self.limits))? {
                None => return Ok(None),
                Some(ListEvent::Head { api_version, kind }) => {
                    self.expected.check(Some(&api_version), Some(&kind), true)?;
                    self.checked = true;
                }
                Some(ListEvent::Item(_)) if !self.checked => {
                    return Err(Error::bad_data("a list that does not say of what"));
                }
                Some(ListEvent::Item(message)) => {
                    let encoded = Encoded {
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
        let list = self.reader.finish().map_err(|error| no_list(error, limits))?;
        if !self.checked {
            return Err(Error::bad_data("a list that does not say of what"));
        }
        end(Some(&list.resource_version), Some(list.continue_token))
    }
}

fn no_list(error: protobuf::Error, limits: Limits) -> Error {
    if error.is_over_limit() {
        return Error::bad_data_from(limits.object_exceeded("a list with an object"), error);
    }
    Error::bad_data_from("a list that is not whole protobuf", error)
}
