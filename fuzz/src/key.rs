//! Keys and versions. An input is one text per line.

use std::cmp::Ordering;

use kube_informer::{Key, ResourceVersion};

/// Maximum number of lines.
const MOST: usize = 4;

/// Keys and versions are printed as they were written, and are totally ordered.
pub(crate) fn key(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let lines: Vec<&str> = text.split('\n').take(MOST).collect();
    let keys: Vec<Key> = lines.iter().filter_map(|line| line.parse().ok()).collect();
    for line in &lines {
        assert_read(line);
    }
    for a in &keys {
        for b in &keys {
            assert_eq!(a.cmp(b), a.parts().cmp(&b.parts()));
            assert_eq!(a.cmp(b), b.cmp(a).reverse());
            assert_eq!(a == b, a.as_str() == b.as_str());
        }
    }
    let versions: Vec<ResourceVersion> = lines.iter().map(|line| ResourceVersion::from(*line)).collect();
    for (a, a_text) in versions.iter().zip(&lines) {
        assert_eq!(a.to_string(), *a_text);
        for (b, b_text) in versions.iter().zip(&lines) {
            assert_eq!(a == b, a_text == b_text);
            assert_eq!(a.compare(b), b.compare(a).map(Ordering::reverse));
            assert_eq!(a.compare(b), order(a_text, b_text), "{a_text:?} and {b_text:?}");
            assert_eq!(a.is_before(b), a.compare(b) == Some(Ordering::Less));
        }
    }
}

fn assert_read(line: &str) {
    let parts: Vec<&str> = line.split('/').collect();
    let is_key = parts.len() <= 2 && parts.iter().all(|part| !part.is_empty());
    match line.parse::<Key>() {
        Ok(key) => {
            assert!(is_key, "unexpected key {line:?}");
            assert_eq!(key.to_string(), line);
            assert_eq!(Key::new(key.namespace(), key.name()), key);
        }
        Err(error) => assert!(!is_key, "{error}"),
    }
}

/// The expected order of two versions: integers of any length are compared, equal texts are equal, others
/// have no order.
fn order(a: &str, b: &str) -> Option<Ordering> {
    let is_number =
        |text: &str| !text.is_empty() && !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
    if is_number(a) && is_number(b) {
        return Some(a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    }
    (a == b).then_some(Ordering::Equal)
}
