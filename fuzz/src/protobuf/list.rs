//! Lists. An input is four bytes that determine the pieces, and the body.

use bytes::Bytes;
use kube_wire::FieldMask;
use kube_wire::protobuf::{Error, ListEvent, ListMeta, ListReader, Schema, decode};
use serde_json::Value;

use super::CUTTING;
use crate::pieces::cut;

const LIMIT: usize = 1 << 20;

/// The result of reading a list: the events up to the first error.
#[derive(Debug, PartialEq)]
struct ProtobufListResult {
    events: Vec<ListEvent>,
    end: Result<ListMeta, String>,
}

/// The result does not depend on the pieces, and equals that of decoding the whole list.
pub(crate) fn list(data: &[u8]) {
    let (pieces, whole) = cut(data);
    let in_one = CUTTING.keep(whole.len(), || read([whole.clone()], LIMIT));
    // A piece is copied at most once for each piece that completes it.
    assert_eq!(read(pieces.clone(), LIMIT), in_one);
    assert_eq!(read(pieces, 16), read([whole.clone()], 16));
    let (Ok(meta), Ok(decoded)) = (&in_one.end, decode(&whole)) else {
        return;
    };
    let metadata = &decoded["metadata"];
    assert_eq!(
        meta.resource_version,
        metadata["resourceVersion"].as_str().unwrap_or_default()
    );
    assert_eq!(
        meta.continue_token,
        metadata["continue"].as_str().unwrap_or_default()
    );
    assert_eq!(meta.remaining, metadata["remainingItemCount"].as_i64());
    assert_items(&in_one.events, &decoded);
}

fn read(pieces: impl IntoIterator<Item = Bytes>, limit: usize) -> ProtobufListResult {
    let mut reader = ListReader::new(limit);
    let mut events = Vec::new();
    let end = |error: Error| Err(error.to_string());
    for piece in pieces {
        reader.push(piece);
        loop {
            match reader.next() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => {
                    return ProtobufListResult {
                        events,
                        end: end(error),
                    };
                }
            }
        }
    }
    let end = reader.finish().or_else(end);
    ProtobufListResult { events, end }
}

fn assert_items(events: &[ListEvent], decoded: &Value) {
    let Some((ListEvent::Head { api_version, kind }, items)) = events.split_first() else {
        panic!("missing head: {events:?}");
    };
    assert_eq!(
        (decoded["apiVersion"].as_str(), decoded["kind"].as_str()),
        (Some(&**api_version), Some(&**kind))
    );
    let wanted = decoded["items"].as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(items.len(), wanted.len());
    let Some(schema) = kind
        .strip_suffix("List")
        .and_then(|kind| Schema::of(api_version, kind))
    else {
        return;
    };
    for (item, wanted) in items.iter().zip(wanted) {
        let ListEvent::Item(message) = item else {
            panic!("duplicate head: {events:?}");
        };
        let mut found: Value = schema
            .decode(message, &FieldMask::none())
            .expect("the list was decoded");
        let fields = found.as_object_mut().expect("an object");
        fields.retain(|name, _| name != "apiVersion" && name != "kind");
        assert_eq!(found, *wanted);
    }
}
