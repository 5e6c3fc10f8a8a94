//! Type and identity of an object, without decoding it.

use std::borrow::Cow;

use super::Error;
use super::cursor::{Cursor, RawString};
use super::duplicate_check::DuplicateCheck;
use crate::Identity;

/// Type and identity of an object.
///
/// Returned by [`head`](super::head()).
#[doc(alias = "TypeMeta")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head<'a> {
    /// `apiVersion`, or `None` if it is missing or `null`.
    pub api_version: Option<Cow<'a, str>>,
    /// `kind`, or `None` if it is missing or `null`.
    pub kind: Option<Cow<'a, str>>,
    /// The identity in `metadata`, or `None` if `metadata` is missing or `null`.
    pub identity: Option<Identity<'a>>,
}

/// Reads the identity of an object.
///
/// Stops as soon as the identity is complete: Kubernetes writes it into the first few hundred bytes. The rest may be
/// invalid JSON, which [`decode`](super::decode()) and [`prune`](super::prune()) detect. They also reject objects
/// with duplicates of these fields, so that an object cannot be read under two names.
///
/// # Errors
/// Returns an error if the text is not an object or has no `metadata`.
///
/// # Examples
///
/// ```
/// use kube_wire::json;
///
/// let pod = br#"{"metadata":{"name":"a","namespace":"shop","uid":"3","resourceVersion":"7"},"spec":{"half a pod"#;
/// let identity = json::identity(pod)?;
/// assert_eq!((&*identity.namespace, &*identity.name, &*identity.resource_version), ("shop", "a", "7"));
/// # Ok::<(), json::Error>(())
/// ```
pub fn identity(text: &[u8]) -> Result<Identity<'_>, Error> {
    let read = || {
        let cursor = metadata_of(text)?.ok_or_else(|| Error::expected("metadata", text.len()))?;
        identity_at(cursor)
    };
    read().map_err(|error: Error| error.locate(text))
}

/// Reads type and identity of an object, in any order.
///
/// Stops as soon as both are complete, as [`identity`] does. Items of lists usually have no type; the whole item is
/// read to detect that.
///
/// # Errors
/// Returns an error if the text is not an object.
///
/// # Examples
///
/// ```
/// use kube_wire::json;
///
/// let head = json::head(br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}"#)?;
/// assert_eq!(head.kind.as_deref(), Some("Pod"));
/// assert_eq!(head.identity.expect("metadata is present").name, "a");
/// # Ok::<(), json::Error>(())
/// ```
pub fn head(text: &[u8]) -> Result<Head<'_>, Error> {
    read_head(text).map_err(|error| error.locate(text))
}

fn read_head(text: &[u8]) -> Result<Head<'_>, Error> {
    let mut cursor = Cursor::new(text);
    let mut fields = cursor.enter_object()?;
    let mut head = Head::default();
    let mut duplicates = DuplicateCheck::OBJECT;
    while let Some(name) = cursor.next_field(&mut fields)? {
        match known_field(&mut duplicates, name)? {
            Some("apiVersion") => head.api_version = text_at(&mut cursor)?,
            Some("kind") => head.kind = text_at(&mut cursor)?,
            Some("metadata") if !cursor.take_null()? => {
                head.identity = Some(identity_at(cursor.clone())?);
                if !duplicates.is_complete() {
                    cursor.skip_value()?;
                }
            }
            Some("metadata") => {}
            _ => {
                cursor.skip_value()?;
            }
        }
        if duplicates.is_complete() {
            break;
        }
    }
    Ok(head)
}

/// Reads `metadata` until the identity is complete.
fn identity_at(mut cursor: Cursor<'_>) -> Result<Identity<'_>, Error> {
    let mut identity = Identity::default();
    let mut fields = cursor.enter_object()?;
    let mut duplicates = DuplicateCheck::METADATA;
    while !duplicates.has_identity()
        && let Some(name) = cursor.next_field(&mut fields)?
    {
        let part = match known_field(&mut duplicates, name)? {
            Some("name") => &mut identity.name,
            Some("namespace") => &mut identity.namespace,
            Some("resourceVersion") => &mut identity.resource_version,
            Some("uid") => &mut identity.uid,
            _ => {
                cursor.skip_value()?;
                continue;
            }
        };
        *part = text_at(&mut cursor)?.unwrap_or_default();
    }
    Ok(identity)
}

/// Returns a cursor at the value of `metadata`, or `None` if it is missing or `null`.
pub(super) fn metadata_of(text: &[u8]) -> Result<Option<Cursor<'_>>, Error> {
    field_of(Cursor::new(text), "metadata")
}

/// Returns a cursor at the value of a field, or `None` if it is missing or `null`. Does not read the fields after it.
pub(super) fn field_of<'a>(mut cursor: Cursor<'a>, expected: &str) -> Result<Option<Cursor<'a>>, Error> {
    let mut fields = cursor.enter_object()?;
    while let Some(name) = cursor.next_field(&mut fields)? {
        if name.equals(expected) {
            return Ok((!cursor.take_null()?).then_some(cursor));
        }
        cursor.skip_value()?;
    }
    Ok(None)
}

fn known_field(duplicates: &mut DuplicateCheck, name: RawString<'_>) -> Result<Option<&'static str>, Error> {
    duplicates
        .record(|known| name.equals(known))
        .map_err(|_| Error::duplicate_field(name.offset()))
}

fn text_at<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Cow<'a, str>>, Error> {
    cursor.string_or_null()?.map(RawString::text).transpose()
}
