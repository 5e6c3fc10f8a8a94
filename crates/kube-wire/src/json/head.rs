//! What an object says of itself, read without reading the rest.

use std::borrow::Cow;

use super::Error;
use super::cursor::{Cursor, Str};
use super::once::Once;
use crate::Identity;

/// Type and identity of an object.
///
/// Read by [`head`](super::head()).
#[doc(alias = "TypeMeta")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head<'a> {
    /// `apiVersion`, unless it is missing or `null`.
    pub api_version: Option<Cow<'a, str>>,
    /// `kind`, unless it is missing or `null`.
    pub kind: Option<Cow<'a, str>>,
    /// From `metadata`, unless it is missing or `null`.
    pub identity: Option<Identity<'a>>,
}

/// The identity of an object, read from as little of it as has it: Kubernetes writes it into the first few hundred bytes.
///
/// What comes after it may be no JSON at all; [`decode`](super::decode()) and [`prune`](super::prune()) will say so. They also
/// refuse an object that has one of these fields twice, so that nothing is ever known by a name that is not its own.
///
/// ```
/// use kube_wire::json;
///
/// let pod = br#"{"metadata":{"name":"a","namespace":"shop","uid":"3","resourceVersion":"7"},"spec":{"half a pod"#;
/// let identity = json::identity(pod)?;
/// assert_eq!((&*identity.namespace, &*identity.name, &*identity.resource_version), ("shop", "a", "7"));
/// # Ok::<(), json::Error>(())
/// ```
///
/// # Errors
/// It is no object, or it has no `metadata`.
pub fn identity(text: &[u8]) -> Result<Identity<'_>, Error> {
    let read = || {
        let cursor = metadata_of(text)?.ok_or_else(|| Error::expected("metadata", text.len()))?;
        identity_at(cursor)
    };
    read().map_err(|error: Error| error.within(text))
}

/// Type and identity of an object, in whatever order it has them.
///
/// Like [`identity`] it reads no further than it has to. Items of a list mostly leave their type out; that it is missing
/// is only known at the end.
///
/// ```
/// use kube_wire::json;
///
/// let head = json::head(br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}"#)?;
/// assert_eq!(head.kind.as_deref(), Some("Pod"));
/// assert_eq!(head.identity.expect("it has metadata").name, "a");
/// # Ok::<(), json::Error>(())
/// ```
pub fn head(text: &[u8]) -> Result<Head<'_>, Error> {
    read_head(text).map_err(|error| error.within(text))
}

fn read_head(text: &[u8]) -> Result<Head<'_>, Error> {
    let mut cursor = Cursor::new(text);
    let mut fields = cursor.fields()?;
    let mut head = Head::default();
    let mut once = Once::OBJECT;
    while let Some(name) = cursor.field(&mut fields)? {
        match see(&mut once, name)? {
            Some("apiVersion") => head.api_version = text_at(&mut cursor)?,
            Some("kind") => head.kind = text_at(&mut cursor)?,
            Some("metadata") if !cursor.take_null()? => {
                head.identity = Some(identity_at(cursor.clone())?);
                if !once.has_seen_all() {
                    cursor.value()?;
                }
            }
            Some("metadata") => {}
            _ => {
                cursor.value()?;
            }
        }
        if once.has_seen_all() {
            break;
        }
    }
    Ok(head)
}

/// Reads `metadata` until the identity is known.
fn identity_at(mut cursor: Cursor<'_>) -> Result<Identity<'_>, Error> {
    let mut identity = Identity::default();
    let mut fields = cursor.fields()?;
    let mut once = Once::METADATA;
    while !once.has_seen_identity()
        && let Some(name) = cursor.field(&mut fields)?
    {
        let part = match see(&mut once, name)? {
            Some("name") => &mut identity.name,
            Some("namespace") => &mut identity.namespace,
            Some("resourceVersion") => &mut identity.resource_version,
            Some("uid") => &mut identity.uid,
            _ => {
                cursor.value()?;
                continue;
            }
        };
        *part = text_at(&mut cursor)?.unwrap_or_default();
    }
    Ok(identity)
}

/// The place where the value of `metadata` begins; none if it is missing or `null`.
pub(super) fn metadata_of(text: &[u8]) -> Result<Option<Cursor<'_>>, Error> {
    field_of(Cursor::new(text), "metadata")
}

/// The place where the value of an object's field begins; none if it is missing or `null`. The rest is not read.
pub(super) fn field_of<'a>(mut cursor: Cursor<'a>, wanted: &str) -> Result<Option<Cursor<'a>>, Error> {
    let mut fields = cursor.fields()?;
    while let Some(name) = cursor.field(&mut fields)? {
        if name.is(wanted) {
            return Ok((!cursor.take_null()?).then_some(cursor));
        }
        cursor.value()?;
    }
    Ok(None)
}

fn see(once: &mut Once, name: Str<'_>) -> Result<Option<&'static str>, Error> {
    once.see(|known| name.is(known))
        .map_err(|_| Error::twice(name.offset()))
}

fn text_at<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Cow<'a, str>>, Error> {
    cursor.string_or_null()?.map(Str::text).transpose()
}
