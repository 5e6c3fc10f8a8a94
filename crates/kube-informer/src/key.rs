//! The name of an object within its kind.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use crate::error::Error;

/// What names an object within its kind: `namespace/name`, or `name` for cluster-scoped kinds.
///
/// A key is small and cheap to clone. It stands for client-go's `ObjectName` and for the strings of
/// `MetaNamespaceKeyFunc`, and prints and parses as those do. Keys order by namespace, then by name; cluster-scoped
/// keys come first.
///
/// ```
/// use kube_informer::Key;
///
/// let key: Key = "shop/cart".parse()?;
/// assert_eq!((key.namespace(), key.name()), (Some("shop"), "cart"));
/// assert_eq!(key, Key::namespaced("shop", "cart"));
/// assert_eq!(Key::cluster("node-1").to_string(), "node-1");
/// assert!("a/b/c".parse::<Key>().is_err());
/// # Ok::<(), kube_informer::Error>(())
/// ```
#[derive(Clone)]
pub struct Key {
    text: Text,
}

/// Most keys are short and lie where they are used: reading one then touches no other memory.
#[derive(Clone)]
enum Text {
    Short { len: u8, bytes: [u8; SHORT] },
    Long(Arc<str>),
}

/// So that a key takes 48 bytes.
const SHORT: usize = 46;

impl Key {
    /// The key of a namespaced object.
    pub fn namespaced(namespace: &str, name: &str) -> Key {
        Key::new(Some(namespace), name)
    }

    /// The key of a cluster-scoped object.
    pub fn cluster(name: &str) -> Key {
        Key::new(None, name)
    }

    /// The key of an object in a namespace, or of a cluster-scoped one; an empty namespace counts as none.
    pub fn new(namespace: Option<&str>, name: &str) -> Key {
        let (namespace, slash) = match namespace {
            Some(namespace) if !namespace.is_empty() => (namespace, "/"),
            _ => ("", ""),
        };
        Key {
            text: Text::new([namespace, slash, name]),
        }
    }

    /// The namespace; none for cluster-scoped objects.
    pub fn namespace(&self) -> Option<&str> {
        self.parts().0
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.parts().1
    }

    /// Namespace and name at once.
    pub fn parts(&self) -> (Option<&str>, &str) {
        let text = self.as_str();
        match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, text),
        }
    }

    /// The printed form.
    pub fn as_str(&self) -> &str {
        match &self.text {
            Text::Short { .. } => std::str::from_utf8(self.bytes()).expect("it was made from text"),
            Text::Long(text) => text,
        }
    }

    fn bytes(&self) -> &[u8] {
        match &self.text {
            Text::Short { len, bytes } => &bytes[..usize::from(*len)],
            Text::Long(text) => text.as_bytes(),
        }
    }

    /// Whether this is the key of that object, without making a key for it.
    pub(crate) fn is(&self, namespace: Option<&str>, name: &str) -> bool {
        let text = self.bytes();
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

impl Text {
    fn new<const PARTS: usize>(parts: [&str; PARTS]) -> Text {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        match u8::try_from(len) {
            Ok(short) if len <= SHORT => {
                let mut bytes = [0; SHORT];
                let mut at = 0;
                for part in parts {
                    bytes[at..at + part.len()].copy_from_slice(part.as_bytes());
                    at += part.len();
                }
                Text::Short { len: short, bytes }
            }
            _ => Text::Long(parts.concat().into()),
        }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

impl FromStr for Key {
    type Err = Error;

    fn from_str(text: &str) -> Result<Key, Error> {
        match text.split_once('/') {
            Some((_, name)) if name.contains('/') => {
                Err(Error::invalid_key(text, "it has more than one '/'"))
            }
            Some((_, "")) | None if text.is_empty() || text.ends_with('/') => {
                Err(Error::invalid_key(text, "it has no name"))
            }
            Some(("", _)) => Err(Error::invalid_key(text, "nothing stands before the '/'")),
            _ => Ok(Key {
                text: Text::new([text]),
            }),
        }
    }
}

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
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        self.as_str()
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
    }

    #[test]
    fn short_and_long_keys_are_the_same_to_their_users() {
        assert_eq!(size_of::<Key>(), 48);
        for length in 1..120 {
            let (namespace, name) = ("n".repeat(length / 2), "é".repeat(length));
            let key = Key::new(Some(&namespace), &name);
            let expected = if namespace.is_empty() {
                name.clone()
            } else {
                format!("{namespace}/{name}")
            };
            assert_eq!(key.as_str(), expected);
            assert_eq!(key, expected.parse().unwrap());
            assert!(key.is(Some(namespace.as_str()).filter(|n| !n.is_empty()), &name));
        }
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
