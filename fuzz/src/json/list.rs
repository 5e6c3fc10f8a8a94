//! Lists. An input is four bytes that determine the pieces, and the body.

use bytes::Bytes;
use kube_wire::json::{Items, ListHead, ListReader};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use super::CUTTING;
use crate::pieces::cut;

const LIMIT: usize = 1 << 20;

/// The result of reading a list: the items up to the first error.
#[derive(Debug, PartialEq)]
struct JsonListResult {
    items: Vec<Bytes>,
    end: Result<ListHead, String>,
}

/// A list as decoded by serde_json.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReferenceList<'a> {
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    metadata: Option<Metadata>,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    resource_version: Option<String>,
    #[serde(default, rename = "continue")]
    continue_token: Option<String>,
    #[serde(default, rename = "remainingItemCount")]
    _remaining: IgnoredAny,
}

/// The result does not depend on the pieces, and equals that of decoding the whole list.
pub(crate) fn list(data: &[u8]) {
    let (pieces, whole) = cut(data);
    let in_one = CUTTING.keep(whole.len(), || read([whole.clone()], LIMIT));
    assert_eq!(read(pieces.clone(), LIMIT), in_one);
    assert_eq!(read(pieces, 16), read([whole.clone()], 16));

    let reference = serde_json::from_slice::<ReferenceList<'_>>(&whole);
    match (reference, in_one.end) {
        (Ok(reference), Ok(head)) => {
            let metadata = reference.metadata.unwrap_or_default();
            assert_eq!(head.api_version, reference.api_version);
            assert_eq!(head.kind, reference.kind);
            assert_eq!(head.resource_version, metadata.resource_version);
            assert_eq!(head.continue_token, metadata.continue_token);
            let texts = reference.items.unwrap_or_default();
            assert!(
                in_one.items.iter().eq(texts.iter().map(|text| text.get())),
                "{:?}",
                in_one.items
            );
            if let Items::Count(count) = head.items {
                assert_eq!(count, texts.len());
            }
        }
        // serde also decodes a struct from a list of its fields.
        (Ok(_), Err(error)) => assert!(!is_in_fields(&whole), "{error}: {whole:?}"),
        // Items and unknown fields are not validated.
        (Err(_), _) => {}
    }
}

fn is_in_fields(whole: &[u8]) -> bool {
    let list: Value = serde_json::from_slice(whole).expect("it was decoded before");
    list.is_object() && (list["metadata"].is_object() || list["metadata"].is_null())
}

fn read(pieces: impl IntoIterator<Item = Bytes>, limit: usize) -> JsonListResult {
    let mut reader = ListReader::new(limit);
    let mut items = Vec::new();
    for piece in pieces {
        reader.push(piece);
        loop {
            match reader.next_item() {
                Ok(Some(item)) => items.push(item),
                Ok(None) => break,
                Err(error) => {
                    let end = Err(error.to_string());
                    assert!(reader.next_item().is_err(), "the error of a list persists");
                    return JsonListResult { items, end };
                }
            }
        }
    }
    let end = reader.finish().map_err(|error| error.to_string());
    JsonListResult { items, end }
}
