//! Resource versions.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// The version of an object or a collection in the server's history.
///
/// Since Kubernetes 1.35, versions of one resource compare as whole numbers of any length. Before, and for some extension
/// servers, they are opaque strings. Versions are therefore partially ordered: [`ResourceVersion::compare`] returns `None` if
/// no order is known.
///
/// ```
/// use kube_informer::ResourceVersion;
/// use std::cmp::Ordering;
///
/// let (nine, ten) = (ResourceVersion::from("9"), ResourceVersion::from("10"));
/// assert_eq!(nine.compare(&ten), Some(Ordering::Less));
/// assert_eq!(nine.compare(&ResourceVersion::from("a1f")), None);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResourceVersion(Repr);

/// Equal versions have the same representation.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Number(u64),
    Text(Arc<str>),
}

impl ResourceVersion {
    /// Compares two versions; `None` if they are neither equal nor comparable.
    #[must_use]
    pub fn compare(&self, other: &ResourceVersion) -> Option<Ordering> {
        match (&self.0, &other.0) {
            (Repr::Number(a), Repr::Number(b)) => Some(a.cmp(b)),
            _ if self == other => Some(Ordering::Equal),
            _ => match (self.digits(), other.digits()) {
                (Some(a), Some(b)) => Some(a.len().cmp(&b.len()).then_with(|| a.cmp(&b))),
                _ => None,
            },
        }
    }

    /// Returns whether this version is known to be older than the other.
    #[must_use]
    pub fn is_before(&self, other: &ResourceVersion) -> bool {
        self.compare(other) == Some(Ordering::Less)
    }

    /// Returns whether this version has an order: it is a whole number without leading zeros.
    #[must_use]
    pub fn is_comparable(&self) -> bool {
        self.digits().is_some()
    }

    /// Returns the version in a server's metadata; `None` if it is missing, empty or zero.
    ///
    /// Zero is no version of anything: in a request, it means any version. A watch from there could return older objects.
    pub(crate) fn from_metadata(text: Option<&str>) -> Option<ResourceVersion> {
        text.filter(|text| !matches!(*text, "" | "0"))
            .map(ResourceVersion::from)
    }

    fn digits(&self) -> Option<String> {
        match &self.0 {
            Repr::Number(number) => Some(number.to_string()),
            Repr::Text(text) => is_whole_number(text).then(|| text.to_string()),
        }
    }
}

fn is_whole_number(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit())
}

impl From<&str> for ResourceVersion {
    fn from(text: &str) -> ResourceVersion {
        let number = if is_whole_number(text) {
            text.parse().ok()
        } else {
            None
        };
        ResourceVersion(number.map_or_else(|| Repr::Text(text.into()), Repr::Number))
    }
}

impl From<String> for ResourceVersion {
    fn from(text: String) -> ResourceVersion {
        ResourceVersion::from(text.as_str())
    }
}

impl From<&String> for ResourceVersion {
    fn from(text: &String) -> ResourceVersion {
        ResourceVersion::from(text.as_str())
    }
}

impl From<&ResourceVersion> for ResourceVersion {
    fn from(version: &ResourceVersion) -> ResourceVersion {
        version.clone()
    }
}

impl From<u64> for ResourceVersion {
    fn from(number: u64) -> ResourceVersion {
        ResourceVersion(if number == 0 {
            Repr::Text("0".into())
        } else {
            Repr::Number(number)
        })
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Number(number) => fmt::Display::fmt(number, f),
            Repr::Text(text) => f.pad(text),
        }
    }
}

impl fmt::Debug for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::ResourceVersion;
    use std::cmp::Ordering::{Equal, Greater, Less};

    #[test]
    fn whole_numbers_of_any_length_compare() {
        let long = "123456789012345678901234567890";
        for (a, b, order) in [
            ("1", "2", Less),
            ("10", "9", Greater),
            ("7", "7", Equal),
            ("18446744073709551615", "18446744073709551616", Less),
            (long, "99999999999999999999", Greater),
            (long, long, Equal),
        ] {
            assert_eq!(
                ResourceVersion::from(a).compare(&ResourceVersion::from(b)),
                Some(order),
                "{a} {b}"
            );
            assert_eq!(
                ResourceVersion::from(a).is_before(&ResourceVersion::from(b)),
                order == Less
            );
        }
    }

    #[test]
    fn anything_else_has_no_order() {
        for text in ["", "0", "01", "1.5", "-1", "+1", "abc", "1a", "１"] {
            assert!(!ResourceVersion::from(text).is_comparable(), "{text}");
            assert_eq!(
                ResourceVersion::from(text).compare(&ResourceVersion::from("5")),
                None,
                "{text}"
            );
            assert_eq!(
                ResourceVersion::from(text).compare(&ResourceVersion::from(text)),
                Some(Equal)
            );
        }
        assert_eq!(ResourceVersion::from(0), ResourceVersion::from("0"));
    }

    #[test]
    fn prints_what_it_was() {
        for text in ["1", "42", "0", "007", "x-9", "99999999999999999999999"] {
            assert_eq!(ResourceVersion::from(text).to_string(), text);
        }
        assert_eq!(size_of::<ResourceVersion>(), 16);
    }
}
