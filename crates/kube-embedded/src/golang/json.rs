//! JSON, with the errors of Go's `encoding/json`.

use serde_json::Value;

/// Maximum depth. Go allows 10,000, for which the stack of a thread is too small.
const MAX_DEPTH: usize = 127;

/// Parses a value. Bytes in strings that are not UTF-8 become U+FFFD, as in Go.
pub(crate) fn read_json(bytes: &[u8]) -> Result<Value, String> {
    check(bytes)?;
    serde_json::from_str(&String::from_utf8_lossy(bytes)).map_err(|e| e.to_string())
}

/// Checks the syntax.
fn check(bytes: &[u8]) -> Result<(), String> {
    let mut scan = Scanner { bytes, at: 0 };
    let mut open: Vec<u8> = Vec::new();
    loop {
        match scan.next()? {
            bracket @ (b'{' | b'[') => {
                if open.len() == MAX_DEPTH {
                    return Err(invalid(bracket, "exceeded max depth"));
                }
                open.push(bracket);
                if scan.closes(bracket) {
                    open.pop();
                } else {
                    scan.begin_member(bracket)?;
                    continue;
                }
            }
            b'"' => scan.string()?,
            b'-' => scan.number(None)?,
            digit @ b'0'..=b'9' => scan.number(Some(digit))?,
            b't' => scan.literal("true")?,
            b'f' => scan.literal("false")?,
            b'n' => scan.literal("null")?,
            other => return Err(invalid(other, "looking for beginning of value")),
        }
        if scan.end_of_value(&mut open)? {
            return Ok(());
        }
    }
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Returns the next byte.
    fn take(&mut self) -> Result<u8, String> {
        let byte = self.peek().ok_or("unexpected end of JSON input")?;
        self.at += 1;
        Ok(byte)
    }

    /// Returns the next byte after spaces.
    fn next(&mut self) -> Result<u8, String> {
        self.skip_space();
        self.take()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Returns whether the bracket is closed immediately.
    fn closes(&mut self, bracket: u8) -> bool {
        self.skip_space();
        let closes = matches!((bracket, self.peek()), (b'{', Some(b'}')) | (b'[', Some(b']')));
        self.at += usize::from(closes);
        closes
    }

    /// Skips to the next value inside a bracket, past its key in an object.
    fn begin_member(&mut self, bracket: u8) -> Result<(), String> {
        if bracket != b'{' {
            return Ok(());
        }
        match self.next()? {
            b'"' => self.string()?,
            other => return Err(invalid(other, "looking for beginning of object key string")),
        }
        match self.next()? {
            b':' => Ok(()),
            other => Err(invalid(other, "after object key")),
        }
    }

    /// Skips from the end of a value to the next one. Returns whether there is none.
    fn end_of_value(&mut self, open: &mut Vec<u8>) -> Result<bool, String> {
        loop {
            let Some(&bracket) = open.last() else {
                self.skip_space();
                return self
                    .peek()
                    .map_or(Ok(true), |more| Err(invalid(more, "after top-level value")));
            };
            match (bracket, self.next()?) {
                (_, b',') => {
                    self.begin_member(bracket)?;
                    return Ok(false);
                }
                (b'{', b'}') | (b'[', b']') => {
                    open.pop();
                }
                (b'{', other) => return Err(invalid(other, "after object key:value pair")),
                (_, other) => return Err(invalid(other, "after array element")),
            }
        }
    }

    /// Skips the rest of a string after its opening quote.
    fn string(&mut self) -> Result<(), String> {
        loop {
            match self.take()? {
                b'"' => return Ok(()),
                b'\\' => match self.take()? {
                    b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                    b'u' => {
                        for _ in 0..4 {
                            let digit = self.take()?;
                            if !digit.is_ascii_hexdigit() {
                                return Err(invalid(digit, "in \\u hexadecimal character escape"));
                            }
                        }
                    }
                    other => return Err(invalid(other, "in string escape code")),
                },
                control @ 0..0x20 => return Err(invalid(control, "in string literal")),
                _ => {}
            }
        }
    }

    /// Skips the rest of a number after its first digit or sign.
    fn number(&mut self, first: Option<u8>) -> Result<(), String> {
        let first = match first {
            Some(digit) => digit,
            None => self.digit("in numeric literal")?,
        };
        // No digit may follow a leading zero.
        if first != b'0' {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digit("in exponent of numeric literal")?;
            self.digits();
        }
        Ok(())
    }

    fn digit(&mut self, place: &str) -> Result<u8, String> {
        let byte = self.take()?;
        if byte.is_ascii_digit() {
            Ok(byte)
        } else {
            Err(invalid(byte, place))
        }
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
    }

    /// Skips the rest of a word after its first letter.
    fn literal(&mut self, word: &str) -> Result<(), String> {
        for wanted in word.bytes().skip(1) {
            let byte = self.take()?;
            if byte != wanted {
                let place = format!("in literal {word} (expecting {})", quoted(wanted));
                return Err(invalid(byte, &place));
            }
        }
        Ok(())
    }
}

fn invalid(byte: u8, place: &str) -> String {
    format!("invalid character {} {place}", quoted(byte))
}

/// Quotes a byte like Go, as a character of Latin-1.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => "'\\''".into(),
        b'\\' => "'\\\\'".into(),
        7 => "'\\a'".into(),
        8 => "'\\b'".into(),
        b'\t' => "'\\t'".into(),
        b'\n' => "'\\n'".into(),
        11 => "'\\v'".into(),
        12 => "'\\f'".into(),
        b'\r' => "'\\r'".into(),
        0..0x20 | 0x7f => format!("'\\x{byte:02x}'"),
        0x80..=0xa0 | 0xad => format!("'\\u{byte:04x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MAX_DEPTH, read_json as read};

    #[test]
    fn values_are_parsed() {
        for (text, value) in [
            (
                r#" {"a" : [1, -0.5e+3, 0, "x\u00e4\n\/", true, false, null, {}, []] } "#,
                json!({ "a": [1, -500.0, 0, "xä\n/", true, false, null, {}, []] }),
            ),
            ("null", json!(null)),
            ("\t\r\n7 ", json!(7)),
            ("\"\"", json!("")),
        ] {
            assert_eq!(read(text.as_bytes()), Ok(value), "{text}");
        }
        assert_eq!(
            read(b"{\"k\":\"\xff\xfe\"}"),
            Ok(json!({ "k": "\u{fffd}\u{fffd}" }))
        );
    }

    #[test]
    fn errors_are_those_of_go() {
        let eof = "unexpected end of JSON input";
        for (text, complaint) in [
            ("", eof),
            (" ", eof),
            ("{", eof),
            ("[1", eof),
            ("\"a", eof),
            ("\"\\u12", eof),
            ("-", eof),
            ("1.", eof),
            ("1e", eof),
            ("tru", eof),
            ("x", "invalid character 'x' looking for beginning of value"),
            ("\0", "invalid character '\\x00' looking for beginning of value"),
            ("'", "invalid character '\\'' looking for beginning of value"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("[}", "invalid character '}' looking for beginning of value"),
            (
                "{1",
                "invalid character '1' looking for beginning of object key string",
            ),
            (
                "{\"a\":1,}",
                "invalid character '}' looking for beginning of object key string",
            ),
            ("{\"a\"}", "invalid character '}' after object key"),
            ("{\"a\":1]", "invalid character ']' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("{} {}", "invalid character '{' after top-level value"),
            ("01", "invalid character '1' after top-level value"),
            ("\"\n\"", "invalid character '\\n' in string literal"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            (
                "\"\\u12g\"",
                "invalid character 'g' in \\u hexadecimal character escape",
            ),
            ("-a", "invalid character 'a' in numeric literal"),
            (
                "1.a",
                "invalid character 'a' after decimal point in numeric literal",
            ),
            ("1e+a", "invalid character 'a' in exponent of numeric literal"),
            ("trux", "invalid character 'x' in literal true (expecting 'e')"),
            ("nil", "invalid character 'i' in literal null (expecting 'u')"),
        ] {
            assert_eq!(read(text.as_bytes()), Err(complaint.to_owned()), "{text}");
        }
        let bytes = "\u{feff}{}".as_bytes();
        assert_eq!(
            read(bytes),
            Err("invalid character 'ï' looking for beginning of value".into())
        );
        assert_eq!(
            read(&[0x81]),
            Err("invalid character '\\u0081' looking for beginning of value".into())
        );
    }

    #[test]
    fn depth_is_limited() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(nested(MAX_DEPTH).as_bytes()).is_ok());
        let complaint = Err("invalid character '[' exceeded max depth".to_owned());
        assert_eq!(read(nested(MAX_DEPTH + 1).as_bytes()), complaint);
        assert_eq!(read("[".repeat(1_000_000).as_bytes()), complaint);
    }
}
