//! Lists and watch frames in JSON.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Item, ListPart, WatchEvent};
use crate::error::{Error, StatusError};
use crate::kind::Kind;
use crate::version::Version;

/// The annotation of the bookmark that ends the initial events of a streaming list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// The `kind` a source of objects must have, and the forms that are told apart from it.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) api_version: String,
    pub(super) kind: String,
}

impl Expected {
    /// What objects of `K` are called on the wire.
    pub(super) fn of<K: Kind>(kind: &K::DynamicType) -> Expected {
        if K::metadata_api() {
            Expected {
                api_version: "meta.k8s.io/v1".to_owned(),
                kind: "PartialObjectMetadata".to_owned(),
            }
        } else {
            Expected {
                api_version: K::api_version(kind).into_owned(),
                kind: K::kind(kind).into_owned(),
            }
        }
    }

    /// Whether a list of this type can be a list of the kind under a name of its own: the author of a custom resource may
    /// choose one. Its items then have to say what they are.
    fn may_be_called(&self, api_version: Option<&str>, kind: Option<&str>) -> bool {
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        group.contains('.')
            && group != "meta.k8s.io"
            && api_version == Some(&self.api_version)
            && kind.is_some_and(|kind| kind != "Table" && kind != "Status" && kind != self.kind)
    }

    /// Items of a list and old servers leave the type out; a wrong one is never accepted.
    fn check(&self, api_version: Option<&str>, kind: Option<&str>, list: bool) -> Result<(), Error> {
        if kind == Some("Table") {
            return Err(Error::bad_data(
                "a Table, the form for people, instead of objects",
            ));
        }
        let fits = |kind: &str| match kind.strip_suffix("List") {
            Some(of) if list => of == self.kind,
            _ => !list && kind == self.kind,
        };
        if kind.is_none_or(fits) && api_version.is_none_or(|version| version == self.api_version) {
            return Ok(());
        }
        Err(Error::bad_data(format!(
            "{} {} instead of {} {}{}",
            api_version.unwrap_or("(no apiVersion)"),
            kind.unwrap_or("(no kind)"),
            self.api_version,
            self.kind,
            if list { "List" } else { "" },
        )))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    metadata: PageMeta,
    #[serde(borrow, default, deserialize_with = "Items::read")]
    items: Items<'a>,
}

/// Go writes an empty list as `null`; a list without the field is something else, and must not empty the cache.
#[derive(Default)]
enum Items<'a> {
    #[default]
    Missing,
    There(Vec<&'a RawValue>),
}

impl<'a> Items<'a> {
    fn read<'de: 'a, D: Deserializer<'de>>(from: D) -> Result<Items<'a>, D::Error> {
        let items = Option::<Vec<&'a RawValue>>::deserialize(from)?;
        Ok(Items::There(items.unwrap_or_default()))
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct PageMeta {
    #[serde(default)]
    resource_version: Option<String>,
    #[serde(default, rename = "continue")]
    continue_token: Option<String>,
}

/// A list page whose items are found and not yet decoded.
pub(super) struct RawPage {
    body: Bytes,
    items: std::vec::IntoIter<Range<usize>>,
    expected: Arc<Expected>,
    /// Each item has to say its type, because the list's own says nothing.
    typed_items: bool,
    end: Option<(Version, Option<String>)>,
}

impl RawPage {
    /// Finds the items of a whole list page.
    pub(super) fn read(body: Bytes, expected: Arc<Expected>) -> Result<RawPage, Error> {
        let page: Page<'_> = serde_json::from_slice(&body).map_err(|error| {
            Error::bad_data_from(
                format!("a list that is not whole JSON ({} bytes)", body.len()),
                error,
            )
        })?;
        let (api_version, kind) = (page.api_version.as_deref(), page.kind.as_deref());
        let checked = expected.check(api_version, kind, true);
        let typed_items = checked.is_err() && expected.may_be_called(api_version, kind);
        if !typed_items {
            checked?;
        }
        let version = Version::told(page.metadata.resource_version.as_deref())
            .ok_or_else(|| Error::bad_data("a list without metadata.resourceVersion"))?;
        let continue_token = page.metadata.continue_token.filter(|token| !token.is_empty());
        let place = |item: &RawValue| {
            let start = item.get().as_ptr().addr() - body.as_ptr().addr();
            start..start + item.get().len()
        };
        let Items::There(items) = page.items else {
            return Err(Error::bad_data("a list without items"));
        };
        let items: Vec<_> = items.into_iter().map(place).collect();
        Ok(RawPage {
            items: items.into_iter(),
            body,
            expected,
            typed_items,
            end: Some((version, continue_token)),
        })
    }

    fn item<K: Kind>(&self, raw: &[u8]) -> Result<Item<K>, Error> {
        if self.typed_items {
            let type_of: TypeOf = serde_json::from_slice(raw).map_err(|error| {
                Error::bad_data_from("an object that is not an object of Kubernetes", error)
            })?;
            let (api_version, kind) = (
                type_of.api_version.unwrap_or_default(),
                type_of.kind.unwrap_or_default(),
            );
            self.expected.check(Some(&api_version), Some(&kind), false)?;
        }
        decode_item(raw, &self.expected)
    }

    /// Decodes the next item; after the last one comes the end of the page.
    pub(super) fn next_part<K: Kind>(&mut self) -> Option<Result<ListPart<K>, Error>> {
        match self.items.next() {
            Some(place) => Some(self.item(&self.body[place]).map(ListPart::Item)),
            None => self.end.take().map(|(version, continue_token)| {
                Ok(ListPart::End {
                    version,
                    continue_token,
                })
            }),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeOf {
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    metadata: Option<NameOf>,
}

#[derive(Deserialize)]
struct NameOf {
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    name: Option<String>,
}

fn decode_item<K: Kind>(raw: &[u8], expected: &Expected) -> Result<Item<K>, Error> {
    let object = serde_json::from_slice::<K>(raw);
    // k8s-openapi checks the type itself and says so in its own words; ours name what came and what was expected.
    let object = match object {
        Ok(object) => object,
        Err(error) => {
            let Ok(type_of) = serde_json::from_slice::<TypeOf>(raw) else {
                return Err(Error::bad_data_from(
                    "an object that is not an object of Kubernetes",
                    error,
                ));
            };
            expected.check(type_of.api_version.as_deref(), type_of.kind.as_deref(), false)?;
            let name = type_of.metadata.map_or_else(
                || "an object without metadata".to_owned(),
                |meta| match (meta.namespace, meta.name) {
                    (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
                    (_, Some(name)) => name,
                    _ => "an object without a name".to_owned(),
                },
            );
            return Err(Error::bad_data_from(
                format!("{name} does not fit the type"),
                error,
            ));
        }
    };
    Item::decoded(object)
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(rename = "type")]
    event: String,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Bookmark {
    metadata: BookmarkMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMeta {
    #[serde(default)]
    resource_version: Option<String>,
    #[serde(default)]
    annotations: Option<std::collections::BTreeMap<String, String>>,
}

/// One line of a watch.
pub(super) fn watch_event<K: Kind>(line: &[u8], expected: &Expected) -> Result<WatchEvent<K>, Error> {
    let frame: Frame<'_> = serde_json::from_slice(line).map_err(|error| {
        Error::bad_data_from(
            format!("a watch event that is not JSON ({} bytes)", line.len()),
            error,
        )
    })?;
    match frame.event.as_str() {
        "ADDED" => typed_item(frame.object, expected).map(WatchEvent::Added),
        "MODIFIED" => typed_item(frame.object, expected).map(WatchEvent::Modified),
        "DELETED" => typed_item(frame.object, expected).map(WatchEvent::Deleted),
        "BOOKMARK" => {
            let bookmark: Bookmark = serde_json::from_str(frame.object.get())
                .map_err(|error| Error::bad_data_from("a bookmark without metadata", error))?;
            let version = Version::told(bookmark.metadata.resource_version.as_deref())
                .ok_or_else(|| Error::bad_data("a bookmark without metadata.resourceVersion"))?;
            let annotations = bookmark.metadata.annotations.unwrap_or_default();
            Ok(WatchEvent::Bookmark {
                version,
                initial_events_end: annotations
                    .get(INITIAL_EVENTS_END)
                    .is_some_and(|value| value == "true"),
            })
        }
        "ERROR" => {
            let status = serde_json::from_str::<kube::core::Status>(frame.object.get()).map_err(|error| {
                Error::bad_data_from("a failure in the watch that is not a Status", error)
            })?;
            Ok(WatchEvent::Failure(status_error(status, 0)))
        }
        other => Err(Error::bad_data(format!(
            "a watch event of the unknown type {other:?}"
        ))),
    }
}

/// An object of a watch carries its type, which is checked before the object is read.
fn typed_item<K: Kind>(raw: &RawValue, expected: &Expected) -> Result<Item<K>, Error> {
    let type_of: TypeOf = serde_json::from_str(raw.get())
        .map_err(|error| Error::bad_data_from("a watch event without an object of Kubernetes", error))?;
    expected.check(type_of.api_version.as_deref(), type_of.kind.as_deref(), false)?;
    if type_of.metadata.is_none() {
        return Err(Error::bad_data("a watch event whose object has no metadata"));
    }
    decode_item(raw.get().as_bytes(), expected)
}

/// A `Status` of the server as an error; `code` is used where the status has none.
pub(super) fn status_error(status: kube::core::Status, code: u16) -> StatusError {
    let (causes, retry_after) = match status.details {
        Some(details) => (details.causes, details.retry_after_seconds),
        None => (Vec::new(), 0),
    };
    StatusError {
        code: if status.code == 0 { code } else { status.code },
        reason: status.reason,
        message: status.message,
        causes: causes.into_iter().map(|cause| cause.reason).collect(),
        retry_after: (retry_after > 0).then(|| std::time::Duration::from_secs(retry_after.into())),
    }
}

/// Cuts a body into lines, however the bytes arrive.
#[derive(Debug)]
pub(super) struct Lines {
    buffer: BytesMut,
    searched: usize,
    limit: usize,
}

impl Lines {
    /// Lines of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Lines {
        Lines {
            buffer: BytesMut::new(),
            searched: 0,
            limit,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole line that is not empty.
    pub(super) fn next_line(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let end = self.buffer[self.searched..]
                .iter()
                .position(|byte| *byte == b'\n')
                .map(|at| self.searched + at);
            // A line is too long whether or not its end has come: how bytes arrive decides nothing.
            if end.unwrap_or(self.buffer.len()) > self.limit {
                return Err(Error::bad_data(format!(
                    "a watch event of more than {} MiB, which is the limit",
                    self.limit >> 20
                )));
            }
            let Some(end) = end else {
                self.searched = self.buffer.len();
                return Ok(None);
            };
            let mut line = self.buffer.split_to(end + 1);
            self.searched = 0;
            line.truncate(end);
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(line.freeze()));
            }
        }
    }

    /// What is left when the body ends: a last line without its end, or half of one.
    pub(super) fn rest(&mut self) -> Option<Bytes> {
        self.searched = 0;
        let rest = self.buffer.split().freeze();
        (!rest.iter().all(u8::is_ascii_whitespace)).then_some(rest)
    }
}
