use std::collections::BTreeMap;

/// The labels of an object, as a [`Selector`](super::Selector) asks for them.
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
    /// The value of the label with this key, if there is such a label.
    fn value(&self, key: &str) -> Option<&str>;
}

impl Labels for BTreeMap<String, String> {
    fn value(&self, key: &str) -> Option<&str> {
        self.get(key).map(String::as_str)
    }
}

/// An object without labels is one with an empty map of them.
impl Labels for Option<BTreeMap<String, String>> {
    fn value(&self, key: &str) -> Option<&str> {
        self.as_ref()?.value(key)
    }
}

/// In any order; the first of equal keys counts.
impl Labels for [(Box<str>, Box<str>)] {
    fn value(&self, key: &str) -> Option<&str> {
        self.iter().find(|(k, _)| **k == *key).map(|(_, v)| &**v)
    }
}
