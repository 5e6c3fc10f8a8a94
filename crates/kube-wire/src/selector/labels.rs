use std::collections::BTreeMap;

/// A set of labels that a [`Selector`](super::Selector) can match.
///
/// # Examples
///
/// ```
/// use kube_wire::selector::{Labels, Selector};
///
/// struct Host { zone: String }
///
/// impl Labels for Host {
///     fn value(&self, key: &str) -> Option<&str> {
///         (key == "zone").then_some(self.zone.as_str())
///     }
/// }
///
/// let selector: Selector = "zone in (north, south)".parse()?;
/// assert!(selector.matches(&Host { zone: "north".into() }));
/// # Ok::<(), kube_wire::selector::ParseSelectorError>(())
/// ```
pub trait Labels {
    /// Returns the value of the label with this key, if any.
    fn value(&self, key: &str) -> Option<&str>;
}

impl Labels for BTreeMap<String, String> {
    fn value(&self, key: &str) -> Option<&str> {
        self.get(key).map(String::as_str)
    }
}

/// `None` is equivalent to an empty map.
impl Labels for Option<BTreeMap<String, String>> {
    fn value(&self, key: &str) -> Option<&str> {
        self.as_ref()?.value(key)
    }
}

/// Pairs in any order. The first of several equal keys counts.
impl Labels for [(Box<str>, Box<str>)] {
    fn value(&self, key: &str) -> Option<&str> {
        self.iter().find(|(k, _)| **k == *key).map(|(_, v)| &**v)
    }
}
