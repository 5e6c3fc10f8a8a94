//! The string formats of schemas.
//!
//! Formats that operators do not use are not checked: `bsonobjectid`, `creditcard`, `hexcolor`, `isbn`, `rgbcolor` and
//! `ssn`.

mod address;
mod time;

pub(in crate::crd) use self::time::parse_duration;
use std::net::Ipv6Addr;
use std::sync::LazyLock;

use kube_wire::names::{has_dns_label_form, has_subdomain_form};
use regex::Regex;

const KNOWN: [&str; 26] = [
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8slongname",
    "k8sshortname",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// Returns the name of a format without dashes, which are ignored.
fn plain(format: &str) -> String {
    format.replace('-', "")
}

/// Returns whether a real server checks this format of strings.
pub(super) fn is_known(format: &str) -> bool {
    !format.is_empty() && KNOWN.contains(&plain(format).as_str())
}

/// Returns whether a real server checks a format of this type. It warns about others and ignores them.
pub(super) fn is_recognized(kind: &str, format: &str) -> bool {
    match kind {
        "" | "string" => is_known(format),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// Returns whether text has a format. Returns true for formats that are not checked.
pub(super) fn holds(format: &str, text: &str) -> bool {
    match plain(format).as_str() {
        "byte" => is_base64(text),
        "cidr" => is_cidr(text),
        "date" => time::is_date(text),
        "datetime" => time::is_date_time(text),
        "duration" => time::is_duration(text),
        "email" => address::is_email(text),
        "hostname" => is_hostname(text),
        "ipv4" => text.contains('.') && (is_ipv4(text) || is_ipv6(text)),
        "ipv6" => is_ipv6(text),
        "k8slongname" => text.len() <= 253 && has_subdomain_form(text),
        "k8sshortname" => text.len() <= 63 && has_dns_label_form(text),
        "mac" => is_mac(text),
        "uri" => address::is_request_uri(text),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some('3')),
        "uuid4" => is_uuid(text, Some('4')),
        "uuid5" => is_uuid(text, Some('5')),
        _ => true,
    }
}

static HOSTNAME: LazyLock<Regex> = LazyLock::new(|| {
    let any = r"[a-zA-Z0-9\p{S}\p{L}]";
    let dashed = r"[a-zA-Z0-9\-\p{S}\p{L}]";
    Regex::new(&format!(
        r"^({any}((-?{any}{{0,62}})?)|({any}(({dashed}{{0,61}}{any})?)(\.))+([a-zA-Z\p{{L}}]){{2,63}})$"
    ))
    .expect("a valid pattern")
});

fn is_hostname(text: &str) -> bool {
    HOSTNAME.is_match(text) && text.len() <= 255 && text.split('.').all(|part| part.len() <= 63)
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && padding <= 2
        && body
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
}

/// Returns whether text is an IPv4 address. Leading zeros are allowed, as before Go 1.17.
fn is_ipv4(text: &str) -> bool {
    let number = |part: &str| {
        let digits = part.trim_start_matches('0');
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_digit())
            && (digits.is_empty() || digits.parse::<u8>().is_ok())
    };
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 4 && parts.into_iter().all(number)
}

fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let limit = if is_ipv4(address) {
        32
    } else if is_ipv6(address) {
        128
    } else {
        return false;
    };
    length.bytes().all(|b| b.is_ascii_digit()) && length.parse::<u32>().is_ok_and(|n| n <= limit)
}

fn is_mac(text: &str) -> bool {
    let (separator, width) = match text {
        _ if text.contains(':') => (':', 2),
        _ if text.contains('-') => ('-', 2),
        _ if text.contains('.') => ('.', 4),
        _ => {
            let long = matches!(text.len(), 12 | 16 | 40);
            return long && text.bytes().all(|b| b.is_ascii_hexdigit());
        }
    };
    let groups: Vec<&str> = text.split(separator).collect();
    matches!(groups.len() * width, 12 | 16 | 40)
        && groups
            .iter()
            .all(|g| g.len() == width && g.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Dashes are optional. Versions 4 and 5 also have a variant.
fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut rest = text;
    let mut groups = Vec::with_capacity(5);
    for (at, width) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((group, left)) = rest.split_at_checked(width) else {
            return false;
        };
        if !group.bytes().all(|b| b.is_ascii_hexdigit()) {
            return false;
        }
        groups.push(group);
        rest = left;
    }
    let starts = |at: usize, of: &str| {
        let first = groups.get(at).and_then(|g| g.chars().next());
        first.is_some_and(|c| of.contains(c.to_ascii_lowercase()))
    };
    rest.is_empty()
        && match version {
            None => true,
            Some('3') => starts(2, "3"),
            Some(digit) => starts(2, &digit.to_string()) && starts(3, "89ab"),
        }
}
