//! Resource versions.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A resource version: where in the server's history an object or a collection stands.
///
/// Kubernetes promises since 1.35 that versions of one resource compare as whole numbers of any length; before, and for
/// some extension servers, they are only strings. So versions compare partially: [`Version::compare`] gives `None` where
/// no order is known, and nothing in this crate guesses one.
///
/// ```
/// use kube_informer::Version;
/// use std::cmp::Ordering;
///
/// let (nine, ten) = (Version::from("9"), Version::from("10"));
/// assert_eq!(nine.compare(&ten), Some(Ordering::Less));
/// assert_eq!(nine.compare(&Version::from("a1f")), None);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Version(Form);

/// Equal versions have one form only, so that equality is by form.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Form {
    Number(u64),
    Text(Arc<str>),
}

impl Version {
    /// How two versions stand in history; `None` where they are not comparable and not equal.
    #[must_use]
    pub fn compare(&self, other: &Version) -> Option<Ordering> {
        match (&self.0, &other.0) {
            (Form::Number(a), Form::Number(b)) => Some(a.cmp(b)),
            _ if self == other => Some(Ordering::Equal),
            _ => match (self.digits(), other.digits()) {
                (Some(a), Some(b)) => Some(a.len().cmp(&b.len()).then_with(|| a.cmp(&b))),
                _ => None,
            },
        }
    }

    /// Whether this version is known to be older than the other.
    #[must_use]
    pub fn is_before(&self, other: &Version) -> bool {
        self.compare(other) == Some(Ordering::Less)
    }

    /// Whether this version can be ordered among others: a whole number without leading zeros.
    #[must_use]
    pub fn is_comparable(&self) -> bool {
        self.digits().is_some()
    }

    /// A version that was told: a server leaves out or empties what it has not.
    pub(crate) fn told(text: Option<&str>) -> Option<Version> {
        text.filter(|text| !text.is_empty()).map(Version::from)
    }

    fn digits(&self) -> Option<String> {
        match &self.0 {
            Form::Number(number) => Some(number.to_string()),
            Form::Text(text) => is_whole_number(text).then(|| text.to_string()),
        }
    }
}

fn is_whole_number(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit())
}

impl From<&str> for Version {
    fn from(text: &str) -> Version {
        let number = if is_whole_number(text) {
            text.parse().ok()
        } else {
            None
        };
        Version(number.map_or_else(|| Form::Text(text.into()), Form::Number))
    }
}

impl From<String> for Version {
    fn from(text: String) -> Version {
        Version::from(text.as_str())
    }
}

impl From<&String> for Version {
    fn from(text: &String) -> Version {
        Version::from(text.as_str())
    }
}

impl From<&Version> for Version {
    fn from(version: &Version) -> Version {
        version.clone()
    }
}

impl From<u64> for Version {
    fn from(number: u64) -> Version {
        Version(if number == 0 {
            Form::Text("0".into())
        } else {
            Form::Number(number)
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Number(number) => fmt::Display::fmt(number, f),
            Form::Text(text) => f.pad(text),
        }
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::Version;
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
                Version::from(a).compare(&Version::from(b)),
                Some(order),
                "{a} {b}"
            );
            assert_eq!(Version::from(a).is_before(&Version::from(b)), order == Less);
        }
    }

    #[test]
    fn anything_else_has_no_order() {
        for text in ["", "0", "01", "1.5", "-1", "+1", "abc", "1a", "１"] {
            assert!(!Version::from(text).is_comparable(), "{text}");
            assert_eq!(Version::from(text).compare(&Version::from("5")), None, "{text}");
            assert_eq!(Version::from(text).compare(&Version::from(text)), Some(Equal));
        }
        assert_eq!(Version::from(0), Version::from("0"));
    }

    #[test]
    fn prints_what_it_was() {
        for text in ["1", "42", "0", "007", "x-9", "99999999999999999999999"] {
            assert_eq!(Version::from(text).to_string(), text);
        }
        assert_eq!(size_of::<Version>(), 16);
    }
}
