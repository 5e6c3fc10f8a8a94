//! Lists in arbitrary chunks.

use bytes::Bytes;
use fastrand::Rng;

use crate::json::{Error, Items, ListHead, ListReader};

const LIMIT: usize = 1 << 20;

/// Returns the items and the head of a list in these chunks.
pub(super) fn read<'a>(
    limit: usize,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(Vec<Bytes>, ListHead), Error> {
    let mut reader = ListReader::new(limit);
    let mut items = Vec::new();
    for chunk in chunks {
        reader.push(Bytes::copy_from_slice(chunk));
        while let Some(item) = reader.next_item()? {
            items.push(item);
        }
    }
    Ok((items, reader.finish()?))
}

fn read_whole(text: &str) -> Result<(Vec<Bytes>, ListHead), Error> {
    read(LIMIT, [text.as_bytes()])
}

/// A list of a built-in kind as Go writes it, plus white space, escapes and fields that lists do not have.
const TYPED: &str = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"10\",\
    \"x\":[1],\"continue\":\"t\\u0031\",\"remainingItemCount\":5},\"more\":{\"items\":[1]}, \"n\":-1.5e3 ,\
    \"items\":[{\"a\":\"}]\\\\\"} , {\"\u{e4}\":[\"\\\"\"]},5,\"s\", null,[]]}\n";

/// A list of custom resources as Go writes it.
const SORTED: &str = "{\"apiVersion\":\"e.com/v1\",\"items\":[{\"a\":1},{}],\"kind\":\"WList\",\
    \"metadata\":{\"continue\":\"\",\"resourceVersion\":\"10\"}}";

#[test]
fn lists_do_not_depend_on_chunks() {
    let (items, head) = read_whole(TYPED).expect("a list");
    assert_eq!(
        items,
        [
            "{\"a\":\"}]\\\\\"}",
            "{\"\u{e4}\":[\"\\\"\"]}",
            "5",
            "\"s\"",
            "null",
            "[]"
        ]
    );
    let expected = ListHead {
        api_version: Some("v1".into()),
        kind: Some("PodList".into()),
        resource_version: Some("10".into()),
        continue_token: Some("t1".into()),
        remaining_item_count: Some(5),
        items: Items::Count(6),
    };
    assert_eq!(head, expected);
    for text in [TYPED, SORTED] {
        let (items, head) = read_whole(text).expect("a list");
        let text = text.as_bytes();
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let chunks = [&text[..first], &text[first..second], &text[second..]];
                let cut = read(LIMIT, chunks).expect("a list");
                assert_eq!(cut, (items.clone(), head.clone()), "cut at {first} and {second}");
            }
        }
        assert_eq!(read(LIMIT, text.chunks(1)).expect("a list"), (items, head));
    }
}

#[test]
fn head_is_available_while_reading() {
    let mut reader = ListReader::new(LIMIT);
    reader.push(Bytes::from_static(SORTED.as_bytes()));
    reader.next_item().expect("an item").expect("complete value");
    assert_eq!(reader.head().api_version.as_deref(), Some("e.com/v1"));
    assert_eq!(
        (&reader.head().kind, reader.head().items),
        (&None, Items::Count(1))
    );
    reader.next_item().expect("an item").expect("complete value");
    assert_eq!(reader.next_item().expect("end of input"), None);
    assert_eq!(reader.head().kind.as_deref(), Some("WList"));
    assert_eq!(reader.head().resource_version.as_deref(), Some("10"));
}

#[test]
fn does_not_copy_items_within_one_chunk() {
    let chunk = Bytes::from_static(SORTED.as_bytes());
    let mut reader = ListReader::new(LIMIT);
    reader.push(chunk.clone());
    while let Some(item) = reader.next_item().expect("a list") {
        assert!(chunk.as_ptr_range().contains(&item.as_ptr()));
    }
}

#[test]
fn distinguishes_empty_null_and_missing_items() {
    for (text, items) in [
        (r#"{"items":[]}"#, Items::Count(0)),
        (r#"{"items":[ ] }"#, Items::Count(0)),
        (r#"{"items":null}"#, Items::Null),
        (
            r#"{"items":null ,"kind":null,"metadata":null,"apiVersion":null}"#,
            Items::Null,
        ),
        ("{}", Items::Missing),
        (
            r#"{"kind":null,"metadata":{"resourceVersion":null}}"#,
            Items::Missing,
        ),
    ] {
        let (none, head) = read_whole(text).expect("a list");
        assert!(none.is_empty());
        assert_eq!(
            head,
            ListHead {
                items,
                ..ListHead::default()
            },
            "{text}"
        );
    }
}

#[test]
fn rejects_truncated_lists() {
    for text in [TYPED.trim_end(), SORTED] {
        for end in 0..text.len() {
            for size in [1, LIMIT] {
                let error = read(LIMIT, text.as_bytes()[..end].chunks(size)).unwrap_err();
                assert!(error.is_eof(), "{error}");
                assert_eq!(error.offset(), end);
            }
        }
    }
}

#[test]
fn rejects_invalid_lists_with_path_and_offset() {
    let rows = [
        ("<html>", "expected a list, at byte 0"),
        ("[]", "expected a list, at byte 0"),
        ("\"text\"", "expected a list, at byte 0"),
        (r#"{"items":5}"#, "items: expected a list, at byte 9"),
        (r#"{"items":{}}"#, "items: expected a list, at byte 9"),
        (r#"{"items":nul}"#, "items: expected a list, at byte 9"),
        (
            r#"{"items":nullnull}"#,
            "items: expected end of input, at byte 13",
        ),
        (r#"{"items":[1,]}"#, "items[1]: expected a value, at byte 12"),
        (r#"{"items":[,1]}"#, "items[0]: expected a value, at byte 10"),
        (
            r#"{"items":[1 2]}"#,
            "items: expected a comma or a closing bracket, at byte 12",
        ),
        (
            r#"{"items":[1}"#,
            "items: expected a comma or a closing bracket, at byte 11",
        ),
        (r#"{"items":[],"items":[]}"#, "duplicate field, at byte 12"),
        (r#"{"kind":"a","kind":"a"}"#, "duplicate field, at byte 12"),
        (r#"{"kind":5}"#, "kind: expected a string, at byte 8"),
        (r#"{"metadata":[]}"#, "metadata: expected an object, at byte 12"),
        (
            r#"{"metadata":{"resourceVersion":5}}"#,
            "metadata: expected a string, at byte 31",
        ),
        (
            r#"{"metadata":{"resourceVersion":"1","resourceVersion":"2"}}"#,
            "metadata: duplicate field",
        ),
        (r#"{"kind" "a"}"#, "kind: expected a colon, at byte 8"),
        (r#"{"kind":}"#, "kind: expected a value, at byte 8"),
        ("{,}", "expected a field name, at byte 1"),
        (r#"{"a":1,}"#, "expected a field name, at byte 7"),
        (
            r#"{"a":1 "b":2}"#,
            "expected a comma or a closing bracket, at byte 7",
        ),
        ("{} x", "expected end of input, at byte 3"),
    ];
    for (text, expected) in rows {
        let error = read_whole(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
        let in_bytes = read(LIMIT, text.as_bytes().chunks(1)).unwrap_err().to_string();
        assert_eq!(in_bytes, error);
    }
}

#[test]
fn rejects_long_items_before_their_end() {
    let read = |text: &[u8], size: usize| read(8, text.chunks(size));
    for size in [1, 3, 100] {
        let (items, _) = read(br#"{"items":[{"a":12},{"b":34}]}"#, size).expect("within the limit");
        assert_eq!(items.len(), 2);
        for text in [
            &br#"{"items":[{"a":12},{"a":123}"#[..],
            br#"{"items":[{"a":12},{"a":1234"#,
        ] {
            let error = read(text, size).unwrap_err();
            assert!(error.is_too_long());
            assert_eq!(
                error.to_string(),
                "items[1]: exceeds the limit of 8 bytes, at byte 19"
            );
        }
        let (_, head) = read(br#"{"other":[1,2,3,4,5,6,7,8,9],"items":[]}"#, size)
            .expect("ignored values are not limited");
        assert_eq!(head.items, Items::Count(0));
    }
}

#[test]
fn keeps_failing_after_an_error() {
    for broken in ["[", "{\"items\":]", "{\"kind\":\"\\ud800\"", "{\"kind\":5}"] {
        let mut reader = ListReader::new(LIMIT);
        reader.push(Bytes::from_static(broken.as_bytes()));
        reader.next_item().unwrap_err();
        reader.next_item().unwrap_err();
        reader.push(Bytes::from_static(br#"{"items":[1]}"#));
        reader.next_item().unwrap_err();
        reader.finish().unwrap_err();
    }
}

#[test]
fn finish_fails_if_items_are_unread() {
    let mut reader = ListReader::new(LIMIT);
    reader.push(Bytes::from_static(SORTED.as_bytes()));
    reader.finish().unwrap_err();
}

#[test]
fn reads_deeply_nested_items() {
    let item = "[".repeat(100_000) + &"]".repeat(100_000);
    let (items, _) = read_whole(&format!(r#"{{"x":{item},"items":[{item}]}}"#)).expect("a list");
    assert_eq!(items, [item]);
}

/// The result must not depend on the chunks.
#[test]
fn results_for_mutated_lists_do_not_depend_on_chunks() {
    let mut rng = Rng::with_seed(11);
    for round in 0..8_000 {
        let mut text = [TYPED, SORTED][rng.usize(..2)].as_bytes().to_vec();
        for _ in 0..rng.usize(1..4) {
            let at = rng.usize(..text.len());
            text[at] = b"\"\\{}[],: x5n\xc3"[rng.usize(..13)];
        }
        let with_message = |read: Result<_, Error>| read.map_err(|error| error.to_string());
        let limit = [6, LIMIT][rng.usize(..2)];
        let expected = with_message(read(limit, [&*text]));
        let size = rng.usize(1..40);
        assert_eq!(
            with_message(read(limit, text.chunks(size))),
            expected,
            "{round}, chunks of {size}"
        );
    }
}
