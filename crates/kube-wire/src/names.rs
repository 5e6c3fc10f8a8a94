//! Validation of names, label keys and label values.
//!
//! These functions return `bool`; callers write the error messages. Functions named `has_…_form` do not check the
//! length, because Kubernetes reports length and form separately.
//!
//! # Examples
//!
//! ```
//! use kube_wire::names;
//!
//! assert!(names::is_label_key("app.kubernetes.io/name"));
//! assert!(!names::is_label_key("app/kubernetes/name"));
//! assert!(names::is_label_value(""));
//! ```

/// Maximum length of a label value, and of the name part of a label key, in bytes.
pub const MAX_LABEL_LENGTH: usize = 63;
/// Maximum length of a DNS subdomain, in bytes.
pub const MAX_SUBDOMAIN_LENGTH: usize = 253;

/// Returns whether `text` is a valid label key: a name with an optional prefix, which is a DNS subdomain and `/`.
pub fn is_label_key(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    prefix.is_none_or(|p| p.len() <= MAX_SUBDOMAIN_LENGTH && has_subdomain_form(p))
        && name.len() <= MAX_LABEL_LENGTH
        && has_name_form(name)
}

/// Returns whether `text` is a valid label value: empty or a name.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || (text.len() <= MAX_LABEL_LENGTH && has_name_form(text))
}

/// Returns whether `text` consists of letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
pub fn has_name_form(text: &str) -> bool {
    has_charset(text, |b| b.is_ascii_alphanumeric(), b"-_.")
}

/// Returns whether `text` consists of lower-case letters, digits and inner `-`, as one label of a
/// [subdomain](has_subdomain_form) does.
pub fn has_dns_label_form(text: &str) -> bool {
    has_charset(text, |b| b.is_ascii_lowercase() || b.is_ascii_digit(), b"-")
}

/// Returns whether `text` consists of [DNS labels](has_dns_label_form) separated by dots.
pub fn has_subdomain_form(text: &str) -> bool {
    text.split('.').all(has_dns_label_form)
}

/// Returns whether `text` has an `outer` byte at both ends and only `outer` and `inner` bytes between them.
fn has_charset(text: &str, outer: impl Fn(u8) -> bool, inner: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let ends = bytes.first().is_some_and(|b| outer(*b)) && bytes.last().is_some_and(|b| outer(*b));
    ends && bytes.iter().all(|b| outer(*b) || inner.contains(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validates_label_keys() {
        let longest = format!("{}/{}", "a".repeat(253), "b".repeat(63));
        for key in ["a", "A.b_c-9", "0", "example.com/a", "a-b.c/D", &longest] {
            assert!(is_label_key(key), "{key}");
        }
        let long_name = "a".repeat(64);
        let long_prefix = format!("{}/b", "a".repeat(254));
        for key in [
            "",
            "/",
            "a/",
            "/a",
            "a/b/c",
            "-a",
            "a-",
            "_",
            "ä",
            "a b",
            "A/b",
            "a..b/c",
            "a_b/c",
            ".a/c",
            "-a/c",
            &long_name,
            &long_prefix,
        ] {
            assert!(!is_label_key(key), "{key}");
        }
    }

    #[test]
    fn validates_label_values() {
        let longest = "a".repeat(63);
        for value in ["", "a", "A.b_c-9", &longest] {
            assert!(is_label_value(value), "{value}");
        }
        let long = "a".repeat(64);
        for value in ["-", "a.", "a/b", "é", " ", &long] {
            assert!(!is_label_value(value), "{value}");
        }
    }

    #[test]
    fn form_checks_ignore_the_length() {
        let long = "a".repeat(1000);
        assert!(has_name_form(&long) && has_dns_label_form(&long) && has_subdomain_form(&long));
        assert!(!has_name_form("") && !has_dns_label_form("") && !has_subdomain_form(""));
        assert!(has_subdomain_form("a.b-c.0") && !has_subdomain_form("a.b-.c") && !has_dns_label_form("a.b"));
    }
}
