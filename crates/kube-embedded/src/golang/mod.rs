//! Formats and parses values like Go, for messages that clients and recorded sessions compare.

mod base64;
mod json;
mod number;
mod text;
mod time;

pub(crate) use self::base64::illegal_base64;
pub(crate) use self::json::read_json;
pub(crate) use self::number::{format_float, parse_signed, parse_unsigned};
pub(crate) use self::text::{json_type_name, plain, quoted, syntax, type_name, web_safe};
pub(crate) use self::time::{Precision, canonical_time};
