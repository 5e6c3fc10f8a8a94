//! Encoding of lists and watch frames.

use bytes::BytesMut;
use serde_json::json;

use super::super::{ListEncoder, WatchEvent, encode, split_frame};
use super::{SCALE, scale};
use crate::table::table;

#[test]
fn encoded_parts_form_the_list() {
    let metadata = json!({"resourceVersion": "12", "continue": "next", "remainingItemCount": 7});
    let items: Vec<_> = (0..200)
        .map(|at| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("pod-{at}")}}))
        .collect();
    for items in [&items[..], &items[..1], &[]] {
        let whole = json!({"apiVersion": "v1", "kind": "PodList", "metadata": metadata, "items": items});
        let list = ListEncoder::new("v1", "PodList").unwrap();
        let parts: Vec<_> = items.iter().map(|item| list.item(item).unwrap()).collect();
        let len = parts.iter().map(Vec::len).sum();
        let mut body = list.head(&metadata, len).unwrap();
        body.extend(parts.concat());
        body.extend(list.tail());
        assert_eq!(body, encode(&whole).unwrap());
    }
}

#[test]
fn encodes_every_list_kind() {
    for (api_version, kind) in table().kinds() {
        // Discovery lists are not lists of objects, and the oldest metadata list has its items first.
        let is_list = kind.ends_with("List")
            && !["APIGroupList", "APIResourceList"].contains(&kind)
            && api_version != "meta.k8s.io/v1beta1";
        assert_eq!(
            ListEncoder::new(api_version, kind).is_ok(),
            is_list,
            "{api_version} {kind}"
        );
    }
}

#[test]
fn splits_complete_frames() {
    let frames = [
        WatchEvent::frame_of("ADDED", &scale()).unwrap(),
        WatchEvent::frame_of("BOOKMARK", &scale()).unwrap(),
    ]
    .concat();
    let mut stream = BytesMut::new();
    let mut types = Vec::new();
    for byte in frames {
        stream.extend_from_slice(&[byte]);
        if let Some(frame) = split_frame(&mut stream, 1000).unwrap() {
            let event = WatchEvent::parse(&frame).unwrap();
            assert_eq!(event.object, SCALE);
            assert_eq!(event.decode_object().unwrap(), scale());
            types.push(event.event_type.to_owned());
        }
    }
    assert_eq!(types, ["ADDED", "BOOKMARK"]);
    assert!(stream.is_empty());
}

#[test]
fn encodes_an_event_to_known_bytes() {
    let event = WatchEvent {
        event_type: "ERROR",
        object: b"{}",
    };
    assert_eq!(event.to_frame(), b"\0\0\0\x0d\x0a\x05ERROR\x12\x04\x0a\x02{}");
    assert_eq!(event.decode_object().unwrap(), json!({}));
}

#[test]
fn rejects_long_frames_before_their_end() {
    let mut stream = BytesMut::from(&b"\0\0\x03\xe9"[..]);
    assert!(split_frame(&mut stream, 1000).unwrap_err().is_over_limit());
    assert_eq!(split_frame(&mut stream, 1001).unwrap(), None);
}
