//! Decoding JSON into any type.

use serde::Deserialize;

use super::Error;
use super::duplicate_check::DuplicateCheck;
use super::head::metadata_of;
use super::mask_filter::MaskFilter;
use crate::FieldMask;
use crate::field_mask::SubMask;

/// Decodes an object without the masked fields.
///
/// All other fields are decoded as serde_json decodes them. A [`RawValue`](serde_json::value::RawValue) contains the
/// original text, masked fields included.
///
/// # Errors
/// Returns an error if the text is not valid JSON or does not fit the type. Also returns an error if the type, the
/// identity, the labels or the annotations of the object are duplicate fields, even if `T` accepts them:
/// [`identity`](super::identity()) and similar functions only read the first one.
///
/// # Examples
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
    T::deserialize(MaskFilter::new(&mut json, mask.root(), DuplicateCheck::OBJECT))
        .and_then(|value| json.end().map(|()| value))
        .map_err(|error| Error::decode(text, 0, &error))
}

/// Decodes the `metadata` of an object. Does not read the fields after it.
///
/// # Errors
/// Returns an error if there is no `metadata`, and in the cases listed at [`decode`].
pub fn metadata<'de, T: Deserialize<'de>>(text: &'de [u8], mask: &FieldMask) -> Result<T, Error> {
    let find = || {
        let mut cursor = metadata_of(text)?.ok_or_else(|| Error::expected("metadata", text.len()))?;
        cursor.peek()?;
        Ok(cursor.offset())
    };
    let start = find().map_err(|error: Error| error.locate(text))?;
    // `metadata` itself cannot be masked.
    let mask = mask.root().field("metadata").unwrap_or(SubMask::EMPTY);
    let mut json = serde_json::Deserializer::from_slice(&text[start..]);
    T::deserialize(MaskFilter::new(&mut json, mask, DuplicateCheck::METADATA))
        .map_err(|error| Error::decode(text, start, &error))
}
