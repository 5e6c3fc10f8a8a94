//! Lines in arbitrary chunks.

use bytes::Bytes;

use crate::json::LineReader;

const LIMIT: usize = 1 << 20;

/// Returns all lines of these chunks, and the rest.
fn cut(pieces: &[&[u8]]) -> (Vec<String>, Option<String>) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut lines = LineReader::new(LIMIT);
    let mut whole = Vec::new();
    for piece in pieces {
        lines.push(Bytes::copy_from_slice(piece));
        while let Some(line) = lines.next_line().expect("it is below the limit") {
            whole.push(text(&line));
        }
    }
    (whole, lines.rest().map(|rest| text(&rest)))
}

#[test]
fn lines_are_the_same_wherever_the_bytes_are_cut() {
    let body = b"{\"a\":1}\n\n{\"b\":\"\xc3\xa4\"}\r\n  \n{\"c\":3}\n";
    let expected = cut(&[body]);
    assert_eq!(expected.0, ["{\"a\":1}", "{\"b\":\"ä\"}\r", "{\"c\":3}"]);
    assert_eq!(expected.1, None);
    for first in 0..=body.len() {
        for second in first..=body.len() {
            let pieces: [&[u8]; 3] = [&body[..first], &body[first..second], &body[second..]];
            assert_eq!(cut(&pieces), expected, "cut at {first} and {second}");
        }
    }
    let bytes: Vec<&[u8]> = body.chunks(1).collect();
    assert_eq!(cut(&bytes), expected);
}

#[test]
fn what_has_no_line_end_is_left_over() {
    assert_eq!(
        cut(&[b"{\"a\":1}\n{\"b\"", b":2}"]),
        (vec!["{\"a\":1}".into()], Some("{\"b\":2}".into()))
    );
    assert_eq!(cut(&[b"{\"a\":1}\n \n  "]), (vec!["{\"a\":1}".into()], None));
    assert_eq!(cut(&[]), (Vec::new(), None));
}

#[test]
fn c5_a_line_beyond_the_limit_is_an_error_before_its_end() {
    let mut lines = LineReader::new(8);
    lines.push(Bytes::from_static(b"12345678"));
    assert!(lines.next_line().expect("as long as allowed").is_none());
    lines.push(Bytes::from_static(b"9"));
    let error = lines.next_line().expect_err("one too many");
    assert!(error.is_too_long());
}

#[test]
fn many_lines_may_together_be_longer_than_one_may() {
    let mut lines = LineReader::new(8);
    lines.push(Bytes::from_static(b"12345\n12345\n12345\n"));
    for _ in 0..3 {
        assert_eq!(lines.next_line().expect("short").as_deref(), Some(&b"12345"[..]));
    }
    assert!(lines.next_line().expect("nothing is left").is_none());
}

#[test]
fn a_line_that_came_in_one_piece_is_not_copied() {
    let piece = Bytes::from_static(b"one\ntwo\nthr");
    let mut lines = LineReader::new(LIMIT);
    lines.push(piece.clone());
    for _ in 0..2 {
        let line = lines.next_line().expect("short").expect("it is whole");
        assert!(piece.as_ptr_range().contains(&line.as_ptr()));
    }
}

#[test]
fn pieces_may_come_before_their_lines_are_asked_for() {
    let mut lines = LineReader::new(LIMIT);
    for piece in [&b"a\nb"[..], b"c\n", b"", b"d\n"] {
        lines.push(Bytes::copy_from_slice(piece));
    }
    for expected in [&b"a"[..], b"bc", b"d"] {
        assert_eq!(lines.next_line().expect("short").as_deref(), Some(expected));
    }
    lines.push(Bytes::from_static(b"e"));
    assert_eq!(lines.rest().as_deref(), Some(&b"e"[..]));
}
