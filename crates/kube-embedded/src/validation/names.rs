//! Validates the format of names, labels and keys.

use kube_wire::names::{has_dns_label_form, has_name_form, has_subdomain_form};

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const KEY_NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// Error messages about a text; empty if it is valid.
pub(crate) type Problems = Vec<String>;

fn longest(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

/// Validates a DNS subdomain, the format of most names.
pub(crate) fn subdomain(text: &str) -> Problems {
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push(longest(253));
    }
    if !has_subdomain_form(text) {
        problems.push(SUBDOMAIN.to_owned());
    }
    problems
}

pub(crate) fn wildcard_subdomain(text: &str) -> Problems {
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push(longest(253));
    }
    if !text.strip_prefix("*.").is_some_and(has_subdomain_form) {
        problems.push(WILDCARD.to_owned());
    }
    problems
}

/// Validates a DNS label.
pub(crate) fn label(text: &str) -> Problems {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push(longest(63));
    }
    if !has_dns_label_form(text) {
        let dots = has_subdomain_form(text);
        problems.push(if dots {
            "must not contain dots".to_owned()
        } else {
            LABEL.to_owned()
        });
    }
    problems
}

/// Validates a DNS label that does not begin with a digit.
pub(crate) fn label_1035(text: &str) -> Problems {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push(longest(63));
    }
    if !has_dns_label_form(text) || !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        problems.push(LABEL_1035.to_owned());
    }
    problems
}

/// Validates a segment of a URL's path.
pub(crate) fn path_segment(text: &str) -> Problems {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    ["/", "%"]
        .iter()
        .filter(|c| text.contains(**c))
        .map(|c| format!("may not contain '{c}'"))
        .collect()
}

/// Validates the key of a label: a name with an optional domain.
pub(crate) fn qualified(text: &str) -> Problems {
    let mut problems = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                problems.extend(subdomain(prefix).into_iter().map(|p| format!("prefix part {p}")));
            }
            *name
        }
        _ => {
            problems.push(format!(
                "a valid label key {KEY_NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ));
            return problems;
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        problems.push("name part must be no more than 63 bytes".to_owned());
    }
    if !has_name_form(name) {
        problems.push(format!("name part {KEY_NAME}"));
    }
    problems
}

pub(crate) fn label_value(text: &str) -> Problems {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push("must be no more than 63 bytes".to_owned());
    }
    if !text.is_empty() && !has_name_form(text) {
        problems.push(LABEL_VALUE.to_owned());
    }
    problems
}

/// Validates a key of a config map or secret.
pub(crate) fn config_key(text: &str) -> Problems {
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push(longest(253));
    }
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    if text.is_empty() || !text.bytes().all(fits) {
        problems.push(CONFIG_KEY.to_owned());
    } else if text == "." || text == ".." {
        problems.push(format!("must not be '{text}'"));
    } else if text.starts_with("..") {
        problems.push("must not start with '..'".to_owned());
    }
    problems
}

/// Validates the name of a port that services and probes can refer to.
pub(crate) fn port_name(text: &str) -> Problems {
    let mut problems = Vec::new();
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if text.len() > 15 {
        problems.push("must be no more than 15 characters".to_owned());
    }
    if !text.bytes().all(fits) {
        problems.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !text.bytes().any(|b| b.is_ascii_lowercase()) {
        problems.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        problems.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        problems.push("must not begin or end with a hyphen".to_owned());
    }
    problems
}

pub(crate) fn ip(text: &str) -> Problems {
    match text.parse::<std::net::IpAddr>() {
        Ok(_) => Vec::new(),
        Err(_) => vec!["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_owned()],
    }
}

/// Validates an address with a prefix length.
pub(crate) fn cidr(text: &str) -> Problems {
    let fits = text.split_once('/').is_some_and(|(address, bits)| {
        let most = match address.parse::<std::net::IpAddr>() {
            Ok(std::net::IpAddr::V4(_)) => 32,
            Ok(std::net::IpAddr::V6(_)) => 128,
            Err(_) => return false,
        };
        bits.parse::<u8>().is_ok_and(|b| b <= most)
    });
    if fits {
        return Vec::new();
    }
    vec!["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)".to_owned()]
}

pub(crate) fn percent(text: &str) -> Problems {
    let digits = text.strip_suffix('%').unwrap_or("");
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Vec::new();
    }
    vec!["a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')".to_owned()]
}
