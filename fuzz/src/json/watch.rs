//! Watches. An input is four bytes that determine the pieces, and the body.

use bytes::Bytes;
use kube_wire::json::{LineReader, watch_event};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::CUTTING;
use crate::pieces::cut;

const LIMIT: usize = 1 << 20;

/// An event as decoded by serde_json.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    event_type: String,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// Lines do not depend on the pieces, and events equal those of serde_json.
pub(crate) fn watch(data: &[u8]) {
    let (pieces, whole) = cut(data);
    let in_one = CUTTING.keep(whole.len(), || read([whole.clone()], LIMIT));
    assert_eq!(read(pieces.clone(), LIMIT), in_one);
    assert_eq!(read(pieces, 16).0, read([whole.clone()], 16).0);

    let (lines, rest) = in_one;
    let rest = rest.expect("no line is too long");
    let is_blank = |line: &&[u8]| line.iter().all(|byte| b" \t\r\n".contains(byte));
    let wanted = whole.split(|byte| *byte == b'\n').filter(|line| !is_blank(line));
    assert!(lines.iter().chain(&rest).map(|line| &line[..]).eq(wanted));

    for line in lines.iter().chain(&rest) {
        match (serde_json::from_slice::<Event<'_>>(line), watch_event(line)) {
            (Ok(wanted), Ok(found)) => {
                assert_eq!(found.event_type, wanted.event_type);
                assert_eq!(found.object, wanted.object.get().as_bytes());
            }
            // serde also decodes a struct from a list of its fields.
            (Ok(_), Err(error)) => assert!(line.trim_ascii_start().starts_with(b"["), "{error}: {line:?}"),
            // The object and unknown fields are not validated.
            (Err(_), _) => {}
        }
    }
}

/// Returns the lines, and the remainder at the end.
fn read(
    pieces: impl IntoIterator<Item = Bytes>,
    limit: usize,
) -> (Vec<Bytes>, Result<Option<Bytes>, String>) {
    let mut reader = LineReader::new(limit);
    let mut lines = Vec::new();
    for piece in pieces {
        reader.push(piece);
        loop {
            match reader.next_line() {
                Ok(Some(line)) => lines.push(line),
                Ok(None) => break,
                Err(error) => return (lines, Err(error.to_string())),
            }
        }
    }
    (lines, Ok(reader.rest()))
}
