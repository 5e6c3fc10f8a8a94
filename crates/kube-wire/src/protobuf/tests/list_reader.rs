//! Lists and watches in arbitrary chunks.

use bytes::Bytes;
use serde_json::{Value, json};

use super::super::{
    Envelope, Error, FrameReader, ListEvent, ListMeta, ListReader, Schema, WatchEvent, encode, encode_message,
};
use super::generator::MessageGenerator;
use crate::FieldMask;
use crate::table::table;

const LIMIT: usize = 1 << 20;

/// Returns all events and the metadata of a list in these chunks.
fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<(Vec<ListEvent>, ListMeta), Error> {
    let mut list = ListReader::new(LIMIT);
    let mut events = Vec::new();
    for chunk in chunks {
        list.push(Bytes::copy_from_slice(chunk));
        while let Some(event) = list.next()? {
            events.push(event);
        }
    }
    list.finish().map(|meta| (events, meta))
}

fn pods(count: usize) -> (Vec<Value>, Vec<u8>) {
    let items: Vec<_> = (0..count)
        .map(|at| json!({"metadata": {"name": format!("pod-{at}"), "labels": {"a": "x".repeat(at * 40)}}, "spec": {"containers": null}, "status": {}}))
        .collect();
    let metadata = json!({"resourceVersion": "12", "continue": "next", "remainingItemCount": 7});
    let list = json!({"apiVersion": "v1", "kind": "PodList", "metadata": metadata, "items": items});
    (items, encode(&list).unwrap())
}

fn expected_meta() -> ListMeta {
    ListMeta {
        resource_version: "12".into(),
        continue_token: "next".into(),
        remaining: Some(7),
    }
}

#[test]
fn events_do_not_depend_on_chunks() {
    let (items, body) = pods(9);
    let whole = read([&body[..]]).unwrap();
    assert_eq!(whole.1, expected_meta());
    assert_eq!(
        whole.0[0],
        ListEvent::Head {
            api_version: "v1".into(),
            kind: "PodList".into()
        }
    );
    let pod = Schema::of("v1", "Pod").unwrap();
    let found: Vec<Value> = whole.0[1..]
        .iter()
        .map(|event| match event {
            ListEvent::Item(message) => {
                let mut pod: Value = pod.decode(message, &FieldMask::none()).unwrap();
                pod.as_object_mut()
                    .unwrap()
                    .retain(|key, _| key != "apiVersion" && key != "kind");
                pod
            }
            ListEvent::Head { .. } => panic!("a second head"),
        })
        .collect();
    assert_eq!(found, items);
    for at in 0..=body.len() {
        let (first, second) = body.split_at(at);
        assert_eq!(read([first, second]).unwrap(), whole, "split at {at}");
    }
    for size in [1, 2, 3, 7, 100] {
        assert_eq!(read(body.chunks(size)).unwrap(), whole, "chunks of {size}");
    }
}

#[test]
fn does_not_copy_items_within_one_chunk() {
    let (_, body) = pods(3);
    let body = Bytes::from(body);
    let range = body.as_ptr_range();
    let mut list = ListReader::new(LIMIT);
    list.push(body.clone());
    while let Some(event) = list.next().unwrap() {
        if let ListEvent::Item(message) = event {
            assert!(range.contains(&message.as_ptr()));
        }
    }
}

#[test]
fn detects_truncated_lists() {
    let (_, body) = pods(3);
    // The last item is followed by two empty fields of the envelope.
    for len in 0..body.len() - 4 {
        let error = read([&body[..len]]).unwrap_err();
        assert!(error.is_eof(), "{len}: {error}");
    }
    assert!(ListReader::new(LIMIT).finish().unwrap_err().is_eof());
    let mut unread = ListReader::new(LIMIT);
    unread.push(body.into());
    assert!(unread.finish().unwrap_err().is_eof());
}

#[test]
fn reads_every_list_kind() {
    for (api_version, kind) in table().kinds() {
        let list = json!({"apiVersion": api_version, "kind": kind, "metadata": {"resourceVersion": "1"}, "items": [{}, {}]});
        let Ok(body) = encode(&list) else { continue };
        let is_list = kind.ends_with("List") && !["APIGroupList", "APIResourceList", "List"].contains(&kind);
        match read([&body[..]]) {
            Ok((events, meta)) => {
                assert!(is_list, "{api_version} {kind}");
                assert_eq!(
                    (events.len(), &*meta.resource_version),
                    (3, "1"),
                    "{api_version} {kind}"
                );
            }
            Err(error) => assert!(
                error.is_unknown_kind() && !is_list,
                "{api_version} {kind}: {error}"
            ),
        }
    }
}

#[test]
fn limits_items_before_they_are_received() {
    let head = |len: u64| {
        let mut body = b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07PodList\x12\xff\xff\xff\xff\x0f\x12".to_vec();
        let mut len = len;
        while len >= 0x80 {
            body.push(len.to_le_bytes()[0] | 0x80);
            len >>= 7;
        }
        body.push(len.to_le_bytes()[0]);
        body
    };
    assert!(read([&head(LIMIT as u64)[..]]).unwrap_err().is_eof());
    assert!(read([&head(LIMIT as u64 + 1)[..]]).unwrap_err().is_over_limit());
    // Longer than the list.
    let error = read([&head(u64::from(u32::MAX))[..]]).unwrap_err();
    assert!(!error.is_eof(), "{error}");
}

#[test]
fn rejects_other_kinds_and_malformed_lists() {
    assert!(read([&b"{\"kind\""[..]]).unwrap_err().is_not_protobuf());
    let bodies = [
        encode(&json!({"apiVersion": "v1", "kind": "Status"})).unwrap(),
        encode(&json!({"apiVersion": "v1", "kind": "List"})).unwrap(),
        Envelope::new("example.org/v1", "WidgetList", b"").to_bytes(),
    ];
    for body in bodies {
        assert!(read([&body[..]]).unwrap_err().is_unknown_kind());
    }
    let odd: [&[u8]; 6] = [
        // the object before its type
        b"k8s\0\x12\x00\x0a\x0d\x0a\x02v1\x12\x07PodList",
        // two objects, two types
        b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07PodList\x12\x00\x12\x00",
        b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07PodList\x0a\x0d\x0a\x02v1\x12\x07PodList",
        // a field that ends after the list, in its header and in its content
        b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07PodList\x12\x01\x12\x00",
        b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07PodList\x12\x01\x1a\x00",
        b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07PodList\x12\x03\x12\x02ab",
    ];
    for body in odd {
        for size in [1, body.len()] {
            let error = read(body.chunks(size)).unwrap_err();
            assert!(error.to_string().contains("malformed"), "{body:?}: {error}");
        }
    }
}

#[test]
fn skips_unknown_fields_of_lists() {
    let unknown = b"\xa0\x06\x01\xa1\x0612345678\xa2\x06\x03xyz\xa5\x061234";
    let item = encode_message("k8s.io.api.core.v1.Pod", &json!({})).unwrap();
    let items = [&[0x12, u8::try_from(item.len()).unwrap()][..], &item].concat();
    let list = [&unknown[..], &items, &unknown[..], &items].concat();
    let body = [Envelope::new("v1", "PodList", &list).to_bytes(), unknown.to_vec()].concat();
    for size in [1, 5, body.len()] {
        assert_eq!(read(body.chunks(size)).unwrap().0.len(), 3);
    }
}

#[test]
fn mutated_lists_never_panic() {
    let (_, body) = pods(3);
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..5_000 {
        let mut body = body.clone();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(0..body.len());
            body[at] = random.u8(..);
        }
        let size = random.usize(1..200);
        let in_pieces = read(body.chunks(size));
        let whole = read([&body[..]]);
        match (in_pieces, whole) {
            (Ok(a), Ok(b)) => assert_eq!(a, b),
            (Err(_), Err(_)) => {}
            (a, b) => panic!("{a:?} {b:?}"),
        }
    }
}

#[test]
fn frames_do_not_depend_on_chunks() {
    let mut generator = MessageGenerator::new(3, false);
    let pod = Schema::of("v1", "Pod").unwrap();
    let objects: Vec<_> = (0..5)
        .map(|_| Envelope::new("v1", "Pod", &generator.message(pod.id, 0)).to_bytes())
        .collect();
    let stream: Vec<u8> = objects
        .iter()
        .flat_map(|object| {
            let event = WatchEvent {
                event_type: "ADDED",
                object,
            };
            event.to_frame()
        })
        .collect();
    for size in [1, 3, 4, 5, 64, stream.len()] {
        let mut frames = FrameReader::new(LIMIT);
        let mut found = Vec::new();
        for chunk in stream.chunks(size) {
            frames.push(Bytes::copy_from_slice(chunk));
            while let Some(frame) = frames.next().unwrap() {
                found.push(WatchEvent::parse(&frame).unwrap().object.to_vec());
            }
        }
        assert_eq!(found, objects);
        frames.finish().unwrap();
    }
    for len in [1, 4, 5, stream.len() - 1] {
        let mut frames = FrameReader::new(LIMIT);
        frames.push(Bytes::copy_from_slice(&stream[..len]));
        while frames.next().unwrap().is_some() {}
        assert!(frames.finish().unwrap_err().is_eof(), "{len}");
    }
    let mut frames = FrameReader::new(1000);
    frames.push(Bytes::from_static(b"\0\0\x03\xe9"));
    assert!(frames.next().unwrap_err().is_over_limit());
}
