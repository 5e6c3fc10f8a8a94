//! Numbers, with the formats and errors of Go's `strconv`.

use std::num::{IntErrorKind, ParseIntError};

/// Parses a signed number.
pub(crate) fn parse_signed(text: &str) -> Result<i64, String> {
    text.parse().map_err(|error| {
        let why = reason(&error);
        format!("strconv.ParseInt: parsing {text:?}: {why}")
    })
}

/// Parses an unsigned number.
pub(crate) fn parse_unsigned(text: &str) -> Result<u64, String> {
    let why = match text.parse() {
        Ok(number) if !text.starts_with('+') => return Ok(number),
        Ok(_) => INVALID,
        Err(error) => reason(&error),
    };
    Err(format!("strconv.ParseUint: parsing {text:?}: {why}"))
}

const INVALID: &str = "invalid syntax";

/// Returns Go's message for an invalid number.
fn reason(error: &ParseIntError) -> &'static str {
    match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => INVALID,
    }
}

/// Formats a float like `%v`.
pub(crate) fn format_float(float: f64) -> String {
    let scientific = format!("{float:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..21).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.abs())
        }
        _ => float.to_string(),
    }
}
