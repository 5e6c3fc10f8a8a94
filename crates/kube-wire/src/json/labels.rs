//! Labels and annotations, without decoding the object.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Error;
use super::cursor::{Cursor, RawString};
use super::head::{field_of, metadata_of};
use crate::selector::{Labels, Selector};

/// Returns whether a selector matches the labels of an object.
///
/// Allocates only if a label has escapes, which Kubernetes' labels never need.
///
/// # Errors
/// Returns an error if the text up to the labels is not valid JSON, or if a label is not a string.
///
/// # Examples
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
            return Ok(selector.matches(&decode_labels(labels)?));
        }
        Ok(selector.matches(&UnescapedLabels(labels)))
    };
    read().map_err(|error: Error| error.locate(text))
}

/// Returns the value of a label.
///
/// # Errors
/// Returns an error if the text up to the labels is not valid JSON, or if a label is not a string.
///
/// # Examples
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

/// Returns the value of an annotation.
///
/// # Errors
/// Returns an error if the text up to the annotations is not valid JSON, or if an annotation is not a string.
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
        let mut fields = cursor.enter_object()?;
        let mut found = None;
        while let Some(key) = cursor.next_field(&mut fields)? {
            let value = cursor.string()?;
            if key.equals(name) {
                found = Some(value);
            }
        }
        found.map(RawString::text).transpose()
    };
    read().map_err(|error: Error| error.locate(text))
}

/// Checks that all labels are strings, and returns whether one of them has escapes.
fn has_escapes(mut cursor: Cursor<'_>) -> Result<bool, Error> {
    let mut fields = cursor.enter_object()?;
    let mut found = false;
    while let Some(key) = cursor.next_field(&mut fields)? {
        let value = cursor.string()?;
        for part in [key, value] {
            if part.has_escapes() {
                found = true;
            } else {
                part.borrowed_text()?;
            }
        }
    }
    Ok(found)
}

fn decode_labels(mut cursor: Cursor<'_>) -> Result<BTreeMap<String, String>, Error> {
    let mut fields = cursor.enter_object()?;
    let mut labels = BTreeMap::new();
    while let Some(key) = cursor.next_field(&mut fields)? {
        let value = cursor.string()?;
        labels.insert(key.text()?.into_owned(), value.text()?.into_owned());
    }
    Ok(labels)
}

/// Labels that were checked and have no escapes.
struct UnescapedLabels<'a>(Cursor<'a>);

impl Labels for UnescapedLabels<'_> {
    /// The last of several equal keys counts, as in a decoded map.
    fn value(&self, key: &str) -> Option<&str> {
        let mut cursor = self.0.clone();
        let mut fields = cursor.enter_object().ok()?;
        let mut found = None;
        while let Ok(Some(name)) = cursor.next_field(&mut fields) {
            let value = cursor.string().ok()?;
            if name.equals(key) {
                found = Some(value);
            }
        }
        found?.borrowed_text().ok()
    }
}
