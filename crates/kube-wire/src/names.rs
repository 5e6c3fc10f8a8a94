//! The forms of names, and of the keys and values of labels.
//!
//! Predicates only: what is said about a text that is not of the form depends on who says it. Those named `has_…_form`
//! leave the length open, because Kubernetes complains about length and form separately.
//!
//! ```
//! use kube_wire::names;
//!
//! assert!(names::is_label_key("app.kubernetes.io/name"));
//! assert!(!names::is_label_key("app/kubernetes/name"));
//! assert!(names::is_label_value(""));
//! ```

/// The longest name part of a label's key, and the longest value of a label, in bytes.
pub const LONGEST_LABEL: usize = 63;
/// The longest DNS subdomain, in bytes.
pub const LONGEST_SUBDOMAIN: usize = 253;

/// Whether this can be the key of a label: a name, with or without a DNS subdomain and `/` before it.
pub fn is_label_key(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    prefix.is_none_or(|p| p.len() <= LONGEST_SUBDOMAIN && has_subdomain_form(p))
        && name.len() <= LONGEST_LABEL
        && has_name_form(name)
}

/// Whether this can be the value of a label: empty, or formed like a name.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || (text.len() <= LONGEST_LABEL && has_name_form(text))
}

/// Letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
pub fn has_name_form(text: &str) -> bool {
    is_framed(text, |b| b.is_ascii_alphanumeric(), b"-_.")
}

/// Lower-case letters, digits and `-`, the latter not at an end: one part of a [subdomain](has_subdomain_form).
pub fn has_dns_label_form(text: &str) -> bool {
    is_framed(text, |b| b.is_ascii_lowercase() || b.is_ascii_digit(), b"-")
}

/// [DNS labels](has_dns_label_form) with dots between them.
pub fn has_subdomain_form(text: &str) -> bool {
    text.split('.').all(has_dns_label_form)
}

/// Not empty, `outer` at both ends, and `outer` or one of `inner` between them.
fn is_framed(text: &str, outer: impl Fn(u8) -> bool, inner: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let ends = bytes.first().is_some_and(|b| outer(*b)) && bytes.last().is_some_and(|b| outer(*b));
    ends && bytes.iter().all(|b| outer(*b) || inner.contains(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
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
    fn values() {
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
    fn forms_leave_the_length_open() {
        let long = "a".repeat(1000);
        assert!(has_name_form(&long) && has_dns_label_form(&long) && has_subdomain_form(&long));
        assert!(!has_name_form("") && !has_dns_label_form("") && !has_subdomain_form(""));
        assert!(has_subdomain_form("a.b-c.0") && !has_subdomain_form("a.b-.c") && !has_dns_label_form("a.b"));
    }
}
