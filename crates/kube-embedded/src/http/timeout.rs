//! Checks the `timeout` parameter. It has no effect, because responses are immediate.

use crate::request::Query;
use crate::status::{Result, Status};

const UNITS: [&str; 8] = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];

/// Rejects a timeout that is not a duration in Go's format.
pub(super) fn check(query: &Query) -> Result<()> {
    let text = query.text("timeout");
    if text.is_empty() {
        return Ok(());
    }
    duration(text).map_err(|why| {
        let what = "invalid timeout specified in the request URL";
        Status::bad_request(format!("{what} - time: {why}"))
    })
}

fn duration(text: &str) -> Result<(), String> {
    let invalid = || format!("invalid duration {text:?}");
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(());
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), digits);
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit());
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        if unit.is_empty() {
            return Err(format!("missing unit in duration {text:?}"));
        }
        if !UNITS.contains(&unit) {
            return Err(format!("unknown unit {unit:?} in duration {text:?}"));
        }
        rest = after;
    }
    Ok(())
}

/// Splits text after its leading digits.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_like_in_go() {
        for valid in ["0", "0s", "3m", "1.5h2m", "-5s", "+.5ms", "1.µs"] {
            assert_eq!(duration(valid), Ok(()), "{valid}");
        }
        for (text, why) in [
            ("invalid", "invalid duration \"invalid\""),
            (".", "invalid duration \".\""),
            ("-", "invalid duration \"-\""),
            ("3", "missing unit in duration \"3\""),
            ("3x", "unknown unit \"x\" in duration \"3x\""),
            ("1h-2m", "unknown unit \"h-\" in duration \"1h-2m\""),
        ] {
            assert_eq!(duration(text), Err(why.to_owned()));
        }
    }
}
