//! The name of an object within its kind.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Identifies an object within its kind: `namespace/name`, or `name` for cluster-scoped kinds.
///
/// A key is one shared string: cloning it increments a counter. It replaces client-go's `ObjectName` and the strings of
/// `MetaNamespaceKeyFunc`, and prints and parses like them. Keys are ordered by namespace, then by name; cluster-scoped
/// keys are first.
///
/// ```
/// use kube_informer::Key;
///
/// let key: Key = "shop/cart".parse()?;
/// assert_eq!((key.namespace(), key.name()), (Some("shop"), "cart"));
/// assert_eq!(key, Key::namespaced("shop", "cart"));
/// assert_eq!(Key::cluster("node-1").to_string(), "node-1");
/// assert!("a/b/c".parse::<Key>().is_err());
/// # Ok::<(), kube_informer::error::ParseKeyError>(())
/// ```
#[doc(alias(
    "MetaNamespaceKeyFunc",
    "cache.MetaNamespaceKeyFunc",
    "DeletionHandlingMetaNamespaceKeyFunc",
    "SplitMetaNamespaceKey",
    "KeyFunc",
    "ObjectName",
    "ParseObjectName",
    "NamespacedName",
    "ObjectRef",
))]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    text: Arc<str>,
}

impl Key {
    /// Creates the key of a namespaced object.
    #[must_use]
    pub fn namespaced(namespace: &str, name: &str) -> Key {
        Key::new(Some(namespace), name)
    }

    /// Creates the key of a cluster-scoped object.
    #[must_use]
    pub fn cluster(name: &str) -> Key {
        Key::new(None, name)
    }

    /// Creates the key of an object in a namespace, or of a cluster-scoped object if the namespace is `None` or empty.
    #[must_use]
    pub fn new(namespace: Option<&str>, name: &str) -> Key {
        let text = match namespace {
            Some(namespace) if !namespace.is_empty() => {
                let mut text = String::with_capacity(namespace.len() + 1 + name.len());
                text.push_str(namespace);
                text.push('/');
                text.push_str(name);
                text.into()
            }
            _ => name.into(),
        };
        Key { text }
    }

    /// Returns the namespace; `None` for cluster-scoped objects.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.parts().0
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.parts().1
    }

    /// Returns the namespace and the name.
    #[must_use]
    pub fn parts(&self) -> (Option<&str>, &str) {
        match self.text.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, &self.text),
        }
    }

    /// Returns the key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether this is the key of an object in a namespace.
    pub(crate) fn is_in(&self, namespace: &str) -> bool {
        Key::is_text_in(self.text.as_bytes(), namespace)
    }

    /// Like [`Key::is_in`], for the text of a key.
    pub(crate) fn is_text_in(text: &[u8], namespace: &str) -> bool {
        text.get(namespace.len()) == Some(&b'/') && text.starts_with(namespace.as_bytes())
    }

    /// Returns whether this is the key of an object. Does not allocate.
    pub(crate) fn is(&self, namespace: Option<&str>, name: &str) -> bool {
        Key::is_text_of(self.text.as_bytes(), namespace, name)
    }

    /// Like [`Key::is`], for the text of a key.
    pub(crate) fn is_text_of(text: &[u8], namespace: Option<&str>, name: &str) -> bool {
        match namespace {
            None => text == name.as_bytes(),
            Some(namespace) => {
                text.len() == namespace.len() + 1 + name.len()
                    && text[namespace.len()] == b'/'
                    && text.ends_with(name.as_bytes())
                    && text.starts_with(namespace.as_bytes())
            }
        }
    }
}

impl FromStr for Key {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Key, ParseKeyError> {
        let error = |reason| {
            Err(ParseKeyError {
                text: text.to_owned(),
                reason,
            })
        };
        match text.split_once('/') {
            Some((_, name)) if name.contains('/') => error("more than one '/'"),
            Some((_, "")) | None if text.is_empty() || text.ends_with('/') => error("missing name"),
            Some(("", _)) => error("missing namespace before '/'"),
            _ => Ok(Key { text: text.into() }),
        }
    }
}

/// The error of parsing an invalid [`Key`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseKeyError {
    text: String,
    reason: &'static str,
}

impl fmt::Display for ParseKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ParseKeyError { text, reason } = self;
        write!(
            f,
            "invalid key {text:?}: {reason}; expected NAMESPACE/NAME or NAME"
        )
    }
}

impl std::error::Error for ParseKeyError {}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn prints_and_parses_as_client_go() {
        for text in ["default/web", "node-1", "kube-system/a.b-c", "system:node"] {
            assert_eq!(text.parse::<Key>().unwrap().to_string(), text);
        }
        assert_eq!(Key::new(Some(""), "n"), Key::cluster("n"));
        assert_eq!(Key::namespaced("a", "b").parts(), (Some("a"), "b"));
    }

    #[test]
    fn refuses_what_is_no_key() {
        for text in ["", "/", "a/", "/b", "a/b/c", "a//b"] {
            let error = text.parse::<Key>().unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn orders_by_namespace_then_name() {
        let mut keys: Vec<Key> = ["a-b/x", "a/z", "node", "a/b"].map(|k| k.parse().unwrap()).into();
        keys.sort();
        assert_eq!(
            keys.iter().map(Key::as_str).collect::<Vec<_>>(),
            ["node", "a/b", "a/z", "a-b/x"]
        );
    }

    #[test]
    fn knows_an_object_without_making_its_key() {
        let key = Key::namespaced("ab", "cd");
        assert!(key.is(Some("ab"), "cd"));
        for (namespace, name) in [
            (Some("a"), "b/cd"),
            (Some("ab"), "ce"),
            (None, "cd"),
            (Some("xb"), "cd"),
        ] {
            assert!(!key.is(namespace, name), "{namespace:?} {name}");
        }
        assert!(Key::cluster("n").is(None, "n"));
        assert!(key.is_in("ab") && !key.is_in("a") && !key.is_in("abc") && !key.is_in("ab/cd"));
        assert!(!Key::cluster("ab").is_in("ab"));
    }

    #[test]
    fn random_names_come_back() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut word = || {
            (0..random.usize(1..20))
                .map(|_| random.alphanumeric())
                .collect::<String>()
        };
        for _ in 0..500 {
            let (namespace, name) = (word(), word());
            let key: Key = format!("{namespace}/{name}").parse().unwrap();
            assert_eq!(key, Key::namespaced(&namespace, &name));
            assert!(key.is(Some(&namespace), &name));
        }
    }
}
