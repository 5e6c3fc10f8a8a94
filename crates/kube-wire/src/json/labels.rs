//! Labels against a selector, as they stand in the text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Error;
use super::cursor::{Cursor, Str};
use super::head::{field_of, metadata_of};
use crate::selector::{Labels, Selector};

/// Whether an object's labels are selected, read without reading the rest. Nothing is allocated unless a label has
/// escapes, which those of Kubernetes never need.
///
/// ```
/// use kube_wire::json;
///
/// let selector = "app in (web, shop)".parse().expect("a selector");
/// assert!(json::matches(br#"{"metadata":{"labels":{"app":"web"}}}"#, &selector)?);
/// assert!(!json::matches(br#"{"metadata":{"labels":null}}"#, &selector)?);
/// # Ok::<(), json::Error>(())
/// ```
pub fn matches(text: &[u8], selector: &Selector) -> Result<bool, Error> {
    if selector.is_everything() {
        return Ok(true);
    }
    let read = || {
        let labels = match metadata_of(text)? {
            Some(metadata) => field_of(metadata, "labels")?,
            None => None,
        };
        let Some(labels) = labels else {
            return Ok(selector.matches(&BTreeMap::new()));
        };
        if has_escapes(labels.clone())? {
            return Ok(selector.matches(&unescaped(labels)?));
        }
        Ok(selector.matches(&Plain(labels)))
    };
    read().map_err(|error: Error| error.within(text))
}

/// One of an object's labels, read without reading the rest.
///
/// ```
/// use kube_wire::json;
///
/// let label = json::label(br#"{"metadata":{"labels":{"app":"web"}}}"#, "app")?;
/// assert_eq!(label.as_deref(), Some("web"));
/// # Ok::<(), json::Error>(())
/// ```
pub fn label<'a>(text: &'a [u8], name: &str) -> Result<Option<Cow<'a, str>>, Error> {
    entry(text, "labels", name)
}

/// One of an object's annotations, in the same way.
pub fn annotation<'a>(text: &'a [u8], name: &str) -> Result<Option<Cow<'a, str>>, Error> {
    entry(text, "annotations", name)
}

fn entry<'a>(text: &'a [u8], map: &str, name: &str) -> Result<Option<Cow<'a, str>>, Error> {
    let read = || {
        let found = match metadata_of(text)? {
            Some(metadata) => field_of(metadata, map)?,
            None => None,
        };
        let Some(mut cursor) = found else {
            return Ok(None);
        };
        let mut fields = cursor.fields()?;
        let mut found = None;
        while let Some(key) = cursor.field(&mut fields)? {
            let value = cursor.string()?;
            if key.is(name) {
                found = Some(value);
            }
        }
        found.map(Str::text).transpose()
    };
    read().map_err(|error: Error| error.within(text))
}

/// Reads all labels once: that they are texts, and whether one has escapes.
fn has_escapes(mut cursor: Cursor<'_>) -> Result<bool, Error> {
    let mut fields = cursor.fields()?;
    let mut found = false;
    while let Some(key) = cursor.field(&mut fields)? {
        let value = cursor.string()?;
        for part in [key, value] {
            if part.has_escapes() {
                found = true;
            } else {
                part.plain()?;
            }
        }
    }
    Ok(found)
}

fn unescaped(mut cursor: Cursor<'_>) -> Result<BTreeMap<String, String>, Error> {
    let mut fields = cursor.fields()?;
    let mut labels = BTreeMap::new();
    while let Some(key) = cursor.field(&mut fields)? {
        let value = cursor.string()?;
        labels.insert(key.text()?.into_owned(), value.text()?.into_owned());
    }
    Ok(labels)
}

/// Labels that have been read once and have no escapes.
struct Plain<'a>(Cursor<'a>);

impl Labels for Plain<'_> {
    /// The last of equal keys counts, as it does in a map that is decoded.
    fn value(&self, key: &str) -> Option<&str> {
        let mut cursor = self.0.clone();
        let mut fields = cursor.fields().ok()?;
        let mut found = None;
        while let Ok(Some(name)) = cursor.field(&mut fields) {
            let value = cursor.string().ok()?;
            if name.is(key) {
                found = Some(value);
            }
        }
        found?.plain().ok()
    }
}
