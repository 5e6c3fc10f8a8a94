//! Lines in arbitrary chunks.

use bytes::Bytes;

use crate::json::LineReader;

const LIMIT: usize = 1 << 20;

/// Returns all lines of these chunks, and the rest.
fn split(chunks: &[&[u8]]) -> (Vec<String>, Option<String>) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut lines = LineReader::new(LIMIT);
    let mut whole = Vec::new();
    for chunk in chunks {
        lines.push(Bytes::copy_from_slice(chunk));
        while let Some(line) = lines.next_line().expect("below the limit") {
            whole.push(text(&line));
        }
    }
    (whole, lines.rest().map(|rest| text(&rest)))
}

#[test]
fn lines_do_not_depend_on_chunks() {
    let body = b"{\"a\":1}\n\n{\"b\":\"\xc3\xa4\"}\r\n  \n{\"c\":3}\n";
    let expected = split(&[body]);
    assert_eq!(expected.0, ["{\"a\":1}", "{\"b\":\"ä\"}\r", "{\"c\":3}"]);
    assert_eq!(expected.1, None);
    for first in 0..=body.len() {
        for second in first..=body.len() {
            let chunks: [&[u8]; 3] = [&body[..first], &body[first..second], &body[second..]];
            assert_eq!(split(&chunks), expected, "cut at {first} and {second}");
        }
    }
    let bytes: Vec<&[u8]> = body.chunks(1).collect();
    assert_eq!(split(&bytes), expected);
}

#[test]
fn returns_the_unterminated_rest() {
    assert_eq!(
        split(&[b"{\"a\":1}\n{\"b\"", b":2}"]),
        (vec!["{\"a\":1}".into()], Some("{\"b\":2}".into()))
    );
    assert_eq!(split(&[b"{\"a\":1}\n \n  "]), (vec!["{\"a\":1}".into()], None));
    assert_eq!(split(&[]), (Vec::new(), None));
}

#[test]
fn rejects_long_lines_before_their_end() {
    let mut lines = LineReader::new(8);
    lines.push(Bytes::from_static(b"12345678"));
    assert!(lines.next_line().expect("within the limit").is_none());
    lines.push(Bytes::from_static(b"9"));
    let error = lines.next_line().expect_err("exceeds the limit");
    assert!(error.is_too_long());
}

#[test]
fn limit_applies_to_single_lines() {
    let mut lines = LineReader::new(8);
    lines.push(Bytes::from_static(b"12345\n12345\n12345\n"));
    for _ in 0..3 {
        assert_eq!(
            lines.next_line().expect("within the limit").as_deref(),
            Some(&b"12345"[..])
        );
    }
    assert!(lines.next_line().expect("within the limit").is_none());
}

#[test]
fn does_not_copy_lines_within_one_chunk() {
    let chunk = Bytes::from_static(b"one\ntwo\nthr");
    let mut lines = LineReader::new(LIMIT);
    lines.push(chunk.clone());
    for _ in 0..2 {
        let line = lines
            .next_line()
            .expect("within the limit")
            .expect("complete value");
        assert!(chunk.as_ptr_range().contains(&line.as_ptr()));
    }
}

#[test]
fn accepts_chunks_before_lines_are_read() {
    let mut lines = LineReader::new(LIMIT);
    for chunk in [&b"a\nb"[..], b"c\n", b"", b"d\n"] {
        lines.push(Bytes::copy_from_slice(chunk));
    }
    for expected in [&b"a"[..], b"bc", b"d"] {
        assert_eq!(
            lines.next_line().expect("within the limit").as_deref(),
            Some(expected)
        );
    }
    lines.push(Bytes::from_static(b"e"));
    assert_eq!(lines.rest().as_deref(), Some(&b"e"[..]));
}
