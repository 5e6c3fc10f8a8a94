//! Objects. An input is a byte that selects a field mask, and the text.

use k8s_openapi::api::core::v1::Pod;
use kube_wire::json::{decode, head, identity, label, matches, metadata, outline, prune};
use kube_wire::{FieldMask, json};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::CUTTING;
use crate::choices::Choices;
use crate::objects::{PATHS, assert_identity, labels, skip_of};

/// All readers agree about an object.
pub(crate) fn object(data: &[u8]) {
    let mut choices = Choices::of(data);
    let mask = skip_of(choices.pick(&PATHS));
    let text = choices.rest();

    let reference = serde_json::from_slice::<Value>(text);
    let decoded = decode::<Value>(text, &FieldMask::none());
    match (&reference, &decoded) {
        (Ok(reference), Ok(decoded)) => assert_eq!(decoded, reference),
        (Err(error), Ok(decoded)) => panic!("decoded {decoded} despite the error: {error}"),
        (Ok(_), Err(error)) => assert!(error.is_data(), "{error}"),
        (Err(_), Err(_)) => {}
    }
    assert_pruned(text, &mask, decoded.as_ref().ok());
    if let Ok(object) = &decoded {
        assert_metadata(text, object);
        assert_typed(text);
    } else {
        // These readers validate less, and may find no error.
        let _ = CUTTING.keep(text.len(), || (head(text).is_ok(), identity(text).is_ok()));
        let _ = outline(text, &mut Vec::new());
        let _ = json::annotation(text, "a");
    }
}

fn assert_pruned(text: &[u8], mask: &FieldMask, decoded: Option<&Value>) {
    let mut pruned = b"before".to_vec();
    let done = CUTTING.keep(text.len(), || prune(text, mask, &mut pruned));
    let rest = pruned.strip_prefix(b"before").expect("the existing content");
    if done.is_err() {
        assert_eq!(rest, b"", "an error adds nothing");
        assert!(decoded.is_none(), "an object that can be decoded can be pruned");
        return;
    }
    let mut again = Vec::new();
    prune(rest, mask, &mut again).expect("the pruned object is JSON");
    assert_eq!(again, rest, "pruning again changes nothing");
    serde_json::from_slice::<IgnoredAny>(rest).expect("the pruned object is JSON");
    if let Some(decoded) = decoded {
        let read = serde_json::from_slice::<Value>(rest).expect("the object was decoded");
        let skipped: Value = decode(text, mask).expect("the object was decoded");
        assert_eq!(read, skipped);
        if mask.is_empty() {
            assert_eq!(read, *decoded);
        }
    }
    if let Ok(before) = head(text) {
        assert_eq!(head(rest).expect("the kind and version remain"), before);
    }
}

/// Readers of metadata return what the object contains.
fn assert_metadata(text: &[u8], object: &Value) {
    if let Ok(identity) = identity(text) {
        assert_identity(&identity, object);
    }
    if let Ok(head) = head(text) {
        assert_eq!(head.kind.as_deref(), object["kind"].as_str());
        assert_eq!(head.api_version.as_deref(), object["apiVersion"].as_str());
        if let Some(identity) = &head.identity {
            assert_identity(identity, object);
        }
    }
    if object["metadata"].is_object() {
        let metadata: Value = metadata(text, &FieldMask::none()).expect("metadata");
        assert_eq!(metadata, object["metadata"]);
    }
    let mut outlined = Vec::new();
    let has_outline = outline(text, &mut outlined).is_ok();
    let texts = if has_outline {
        &[text, &outlined][..]
    } else {
        &[text][..]
    };
    for words in ["app=web", "!app,a!=b", "a in (,b,c)", "n>3"] {
        let selector = words.parse().expect("a selector");
        for text in texts {
            match (matches(text, &selector), labels(object)) {
                (Ok(is_selected), Some(labels)) => {
                    assert_eq!(is_selected, selector.matches(&labels), "{words}");
                }
                (Err(_), None) => {}
                // A value that is not an object has no labels.
                (found, wanted) => assert!(!object["metadata"].is_object(), "{found:?} for {wanted:?}"),
            }
        }
    }
    for (key, value) in labels(object).unwrap_or_default() {
        for text in texts {
            assert_eq!(label(text, &key).expect("a label").as_deref(), Some(&*value));
        }
    }
}

/// A type decodes the same as without this library, unless a field is duplicate.
fn assert_typed(text: &[u8]) {
    match (
        serde_json::from_slice::<Pod>(text),
        decode::<Pod>(text, &FieldMask::none()),
    ) {
        (Ok(wanted), Ok(found)) => assert_eq!(found, wanted),
        (Err(_), Err(_)) => {}
        (wanted, found) => panic!("expected {wanted:?}, found {found:?}"),
    }
}
