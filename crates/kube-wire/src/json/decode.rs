//! Text into values of any type.

use serde::Deserialize;

use super::Error;
use super::filtered::Filtered;
use super::head::metadata_of;
use super::once::Once;
use crate::FieldMask;
use crate::field_mask::Within;

/// Decodes an object without the fields that are left out: they are passed over and never made.
///
/// What is kept is read as serde_json reads it. A [`RawValue`](serde_json::value::RawValue) has the text as it came, also
/// what would be left out inside of it. An object that has a field twice which says what it is (its type, its identity,
/// its labels and annotations) is refused, whatever `T` would make of it: [`identity`](super::identity()) and the like read
/// the first and no further.
///
/// ```
/// use kube_wire::{FieldMask, json};
/// use serde_json::{Value, json};
///
/// let text = br#"{"metadata":{"name":"a","managedFields":[{"manager":"kubectl"}]}}"#;
/// let object: Value = json::decode(text, &FieldMask::managed_fields())?;
/// assert_eq!(object, json!({"metadata": {"name": "a"}}));
/// # Ok::<(), json::Error>(())
/// ```
pub fn decode<'de, T: Deserialize<'de>>(text: &'de [u8], mask: &FieldMask) -> Result<T, Error> {
    let mut json = serde_json::Deserializer::from_slice(text);
    T::deserialize(Filtered::new(&mut json, mask.start(), Once::OBJECT))
        .and_then(|value| json.end().map(|()| value))
        .map_err(|error| Error::decode(text, 0, &error))
}

/// Decodes only an object's `metadata`. What comes after it is not read.
///
/// # Errors
/// As [`decode`]; there is no `metadata`.
pub fn metadata<'de, T: Deserialize<'de>>(text: &'de [u8], mask: &FieldMask) -> Result<T, Error> {
    let find = || {
        let mut cursor = metadata_of(text)?.ok_or_else(|| Error::expected("metadata", text.len()))?;
        cursor.peek()?;
        Ok(cursor.offset())
    };
    let start = find().map_err(|error: Error| error.within(text))?;
    // Only what is in it can be left out, never the whole.
    let within = mask.start().field("metadata").unwrap_or(Within::KEPT);
    let mut json = serde_json::Deserializer::from_slice(&text[start..]);
    T::deserialize(Filtered::new(&mut json, within, Once::METADATA))
        .map_err(|error| Error::decode(text, start, &error))
}
