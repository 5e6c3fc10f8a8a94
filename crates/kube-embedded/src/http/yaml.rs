//! Decodes YAML, including JSON.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::{DuplicateKeyPolicy, Options, Spanned};

use crate::schema::strict::duplicate_fields;

/// Maximum number of reported duplicate keys.
const MAX_DUPLICATES: usize = 100;

/// A document, and messages about its duplicate keys in Go's wording.
pub(super) struct Document {
    pub(super) value: Value,
    /// For example `line 9: key "foo" already set in map`.
    pub(super) duplicate_keys: Vec<String>,
}

/// Decodes a document. Of duplicate keys, the last value is used.
pub(super) fn read(bytes: &[u8]) -> Result<Document, String> {
    // Most documents are JSON, which has a faster decoder.
    if let Ok(value) = serde_json::from_slice(bytes) {
        let text = String::from_utf8_lossy(bytes);
        let duplicate_keys = if duplicate_fields(&text).is_empty() {
            Vec::new()
        } else {
            duplicate_keys(&text)
        };
        return Ok(Document {
            value,
            duplicate_keys,
        });
    }
    if bytes.iter().any(|b| matches!(b, 0..=8 | 11 | 12 | 14..=31 | 127)) {
        return Err("yaml: control characters are not allowed".into());
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "yaml: invalid UTF-8")?;
    let value = serde_saphyr::from_str_with_options(text, options()).map_err(|error| {
        let text = error.to_string();
        if text.contains("budget breached") {
            return "yaml: document contains excessive aliasing".into();
        }
        // The following lines quote the document.
        let first = text.lines().next().unwrap_or_default();
        format!("yaml: {}", first.strip_prefix("error: ").unwrap_or(first))
    })?;
    Ok(Document {
        value,
        duplicate_keys: duplicate_keys(text),
    })
}

fn options() -> Options {
    serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::LastWins,
    }
}

fn duplicate_keys(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // The decoder of the values reports syntax errors.
    let _broken = serde_saphyr::with_deserializer_from_str_with_options(text, options(), |deserializer| {
        DuplicateKeyVisitor { found: &mut found }.deserialize(deserializer)
    });
    found
}

/// Collects duplicate keys.
struct DuplicateKeyVisitor<'a> {
    found: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for DuplicateKeyVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DuplicateKeyVisitor<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut known = HashSet::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            if known.contains(&key.value) && self.found.len() < MAX_DUPLICATES {
                let line = key.referenced.line();
                self.found
                    .push(format!("line {line}: key {:?} already set in map", key.value));
            }
            known.insert(key.value);
            map.next_value_seed(DuplicateKeyVisitor { found: self.found })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items
            .next_element_seed(DuplicateKeyVisitor { found: self.found })?
            .is_some()
        {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i128<E>(self, _: i128) -> Result<(), E> {
        Ok(())
    }

    fn visit_u128<E>(self, _: u128) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn duplicate_keys_are_found_with_their_lines() {
        let text = "\nspec:\n  foo: one\n  foo: two\n  list:\n  - bar: 1\n    \"bar\": 2\nspec: {}\n";
        let document = read(text.as_bytes()).unwrap();
        assert_eq!(document.value, json!({ "spec": {} }));
        assert_eq!(
            document.duplicate_keys,
            [
                "line 4: key \"foo\" already set in map",
                "line 7: key \"bar\" already set in map",
                "line 8: key \"spec\" already set in map",
            ]
        );
    }

    #[test]
    fn the_last_duplicate_key_is_used() {
        for text in ["foo: one\nfoo: two\n", r#"{"foo": "one", "foo": "two"}"#] {
            let document = read(text.as_bytes()).unwrap();
            assert_eq!(document.value, json!({ "foo": "two" }));
            assert_eq!(document.duplicate_keys.len(), 1, "{text}");
        }
        let many = "foo: one\n".repeat(MAX_DUPLICATES + 10);
        assert_eq!(
            read(many.as_bytes()).unwrap().duplicate_keys.len(),
            MAX_DUPLICATES
        );
        assert!(read(b"foo: one\nbar: one\n").unwrap().duplicate_keys.is_empty());
    }
}
