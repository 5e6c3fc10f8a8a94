use fastrand::Rng;

use crate::json::scanner::Scanner;

/// Finds the end of the first value, byte by byte.
fn end_of(text: &[u8]) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    for (at, byte) in text.iter().enumerate() {
        let was_escaped = std::mem::take(&mut escaped);
        match byte {
            b'\\' => escaped = !was_escaped,
            b'"' if !was_escaped => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth -= 1,
            _ => {}
        }
        let may_end = matches!(byte, b'"' | b'}' | b']') && !(was_escaped && *byte == b'"');
        if may_end && !in_string && depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[test]
fn finds_the_end_in_arbitrary_chunks() {
    const BYTES: &[u8] = b"\"\"\"\\\\{[]}}aaaaaaaaaaaaaaaa,:|;\xdb\xfb\xa2\xdc";
    let mut rng = Rng::with_seed(7);
    let mut found = 0;
    for round in 0..5_000 {
        let first = [b'{', b'[', b'"'][rng.usize(..3)];
        let mut text = vec![first];
        text.extend((0..rng.usize(..300)).map(|_| BYTES[rng.usize(..BYTES.len())]));
        let expected = end_of(&text);
        found += usize::from(expected.is_some_and(|end| end > 64));
        assert_eq!(Scanner::at(first).end(&text), expected, "{round}: {text:?}");

        let mut scanner = Scanner::at(first);
        let mut at = 0;
        let in_pieces = loop {
            let len = rng.usize(..100).min(text.len() - at);
            if let Some(end) = scanner.end(&text[at..at + len]) {
                break Some(at + end);
            }
            at += len;
            if at == text.len() {
                break None;
            }
        };
        assert_eq!(in_pieces, expected, "{round} in pieces: {text:?}");
    }
    assert!(found > 200, "long values are among them: {found}");
}

#[test]
fn literals_end_before_separators() {
    for (text, end) in [
        ("12,3", Some(2)),
        ("-1.5e3}", Some(6)),
        ("null]", Some(4)),
        ("true ", Some(4)),
        ("12", None),
    ] {
        assert_eq!(
            Scanner::at(text.as_bytes()[0]).end(text.as_bytes()),
            end,
            "{text}"
        );
    }
}
