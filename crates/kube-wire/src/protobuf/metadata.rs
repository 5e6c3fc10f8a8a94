//! Metadata of an object, without decoding the object.

use std::borrow::Cow;
use std::num::NonZeroU16;

use serde::Deserialize;

use super::convert::string;
use super::deserialize;
use super::field_reader::FieldReader;
use super::writer::Writer;
use super::{Error, Schema};
use crate::Identity;
use crate::field_mask::FieldMask;
use crate::selector::{self, Selector};
use crate::table::{MessageId, ValueKind, table};

const OBJECT_META: &str = "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta";

// Field numbers never change.
const NAME: u64 = 1;
const NAMESPACE: u64 = 3;
const UID: u64 = 5;
const RESOURCE_VERSION: u64 = 6;
const LABELS: u64 = 11;
const ANNOTATIONS: u64 = 12;

/// Returns the number of the metadata field, or `None` if the message is not an object.
pub(super) fn field_number(id: MessageId) -> Option<NonZeroU16> {
    let object_meta = table().message_named(OBJECT_META).map(ValueKind::Message);
    let mut fields = table().fields(table().message(id)).iter();
    let found = fields.find(|field| field.name == "metadata" && Some(field.kind) == object_meta);
    found.and_then(|field| NonZeroU16::new(field.number))
}

impl Schema {
    /// Reads the identity of an object. All fields are empty if the message is not an object.
    ///
    /// # Errors
    /// Returns an error if the message is malformed.
    ///
    /// # Examples
    ///
    /// ```
    /// use kube_wire::protobuf::{Envelope, Schema, encode};
    ///
    /// let node = serde_json::json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "7"}});
    /// let bytes = encode(&node)?;
    /// let schema = Schema::of("v1", "Node").expect("built-in kind");
    /// let identity = schema.identity(Envelope::parse(&bytes)?.raw)?;
    /// assert_eq!((&*identity.name, &*identity.namespace, &*identity.uid), ("n", "", "7"));
    /// # Ok::<(), kube_wire::protobuf::Error>(())
    /// ```
    pub fn identity<'a>(&self, message: &'a [u8]) -> Result<Identity<'a>, Error> {
        let [mut name, mut namespace, mut uid, mut resource_version]: [&[u8]; 4] = [b""; 4];
        let mut parts = self.metadata_parts(message);
        while let Some(mut fields) = parts.next()? {
            while let Some((number, content)) = fields.next()? {
                let place = match number {
                    NAME => &mut name,
                    NAMESPACE => &mut namespace,
                    UID => &mut uid,
                    RESOURCE_VERSION => &mut resource_version,
                    _ => continue,
                };
                *place = content.bytes()?;
            }
        }
        Ok(Identity {
            name: string(name),
            namespace: string(namespace),
            resource_version: string(resource_version),
            uid: string(uid),
        })
    }

    /// Decodes the `metadata` of an object.
    ///
    /// # Errors
    /// Returns an error if the message is malformed, is not an object, or does not fit the type.
    pub fn metadata<'de, T: Deserialize<'de>>(
        &self,
        message: &'de [u8],
        mask: &FieldMask,
    ) -> Result<T, Error> {
        deserialize::field(self.id, "metadata", message, mask)?
            .ok_or_else(|| Error::expected("an object with metadata"))
    }

    /// Returns the labels of an object in the order of the message. The last of several equal keys counts.
    pub fn labels<'a>(&self, message: &'a [u8]) -> LabelIter<'a> {
        self.entries(LABELS, message)
    }

    /// Returns the annotations of an object in the order of the message. The last of several equal keys counts.
    pub fn annotations<'a>(&self, message: &'a [u8]) -> LabelIter<'a> {
        self.entries(ANNOTATIONS, message)
    }

    fn entries(self, number: u64, message: &[u8]) -> LabelIter<'_> {
        LabelIter {
            number,
            parts: self.metadata_parts(message),
            fields: FieldReader::of(b""),
        }
    }

    /// Returns whether a selector matches the labels of an object.
    ///
    /// # Errors
    /// Returns an error if the message is malformed.
    ///
    /// # Examples
    ///
    /// ```
    /// use kube_wire::protobuf::{Envelope, Schema, encode};
    /// use kube_wire::selector::Selector;
    ///
    /// let bytes = encode(&serde_json::json!({
    ///     "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"zone": "north"}},
    /// }))?;
    /// let schema = Schema::of("v1", "Node").expect("built-in kind");
    /// let selector: Selector = "zone in (north, south)".parse()?;
    /// assert!(schema.matches(Envelope::parse(&bytes)?.raw, &selector)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn matches(&self, message: &[u8], selector: &Selector) -> Result<bool, Error> {
        let labels = self.labels(message);
        let mut is_text = true;
        for label in labels.clone() {
            let (key, value) = label?;
            is_text &= matches!((key, value), (Cow::Borrowed(_), Cow::Borrowed(_)));
        }
        if is_text {
            return Ok(selector.matches(&labels));
        }
        let mut replaced: Vec<(Box<str>, Box<str>)> = Vec::new();
        for label in labels {
            let (key, value) = label?;
            replaced.push((key.into(), value.into()));
        }
        // In a slice the first of several equal keys counts.
        replaced.reverse();
        Ok(selector.matches(&replaced[..]))
    }

    /// Returns the value of a label.
    ///
    /// # Errors
    /// Returns an error if the message is malformed.
    pub fn label<'a>(&self, message: &'a [u8], name: &str) -> Result<Option<Cow<'a, str>>, Error> {
        self.labels(message).get(name)
    }

    /// Returns the value of an annotation.
    ///
    /// # Errors
    /// Returns an error if the message is malformed.
    pub fn annotation<'a>(&self, message: &'a [u8], name: &str) -> Result<Option<Cow<'a, str>>, Error> {
        self.annotations(message).get(name)
    }

    /// Appends an object with only the metadata for selecting objects: labels, uid, owners, finalizers and times.
    ///
    /// [`matches`](Self::matches) and [`label`](Self::label) return the same for it as for the whole object.
    ///
    /// # Errors
    /// Returns an error if the message is malformed or is not an object. `out` is unchanged in this case.
    pub fn outline(&self, message: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let number = self
            .metadata
            .ok_or_else(|| Error::expected("an object with metadata"))?
            .get();
        let mut metadata = Writer::default();
        let mut fields = FieldReader::of(message);
        while let Some((found, content)) = fields.next()? {
            if found == u64::from(number) {
                metadata.bytes_field(number, content.bytes()?);
            }
        }
        self.prune(&metadata.finish(), FieldMask::outline_mask(), out)
    }

    fn metadata_parts(self, message: &[u8]) -> MetadataParts<'_> {
        MetadataParts {
            number: self.metadata.map(|number| number.get().into()),
            fields: FieldReader::of(message),
        }
    }
}

/// Reads the parts of the metadata. Usually there is one.
#[derive(Clone, Debug)]
struct MetadataParts<'a> {
    number: Option<u64>,
    fields: FieldReader<'a>,
}

impl<'a> MetadataParts<'a> {
    fn next(&mut self) -> Result<Option<FieldReader<'a>>, Error> {
        let Some(metadata) = self.number else {
            return Ok(None);
        };
        while let Some((number, content)) = self.fields.next()? {
            if number == metadata {
                return content.bytes().map(|bytes| Some(FieldReader::of(bytes)));
            }
        }
        Ok(None)
    }
}

/// Key and value as encoded.
type RawLabel<'a> = (&'a [u8], &'a [u8]);

/// Key and value as text.
type Label<'a> = (Cow<'a, str>, Cow<'a, str>);

/// Iterates over the labels or annotations of an object.
///
/// Returned by [`Schema::labels`] and [`Schema::annotations`].
#[derive(Clone, Debug)]
pub struct LabelIter<'a> {
    number: u64,
    parts: MetadataParts<'a>,
    fields: FieldReader<'a>,
}

impl<'a> LabelIter<'a> {
    fn get(mut self, name: &str) -> Result<Option<Cow<'a, str>>, Error> {
        // Only such a name can match a key that is not valid UTF-8.
        let is_replaced = name.contains(char::REPLACEMENT_CHARACTER);
        let mut found = None;
        while let Some((key, value)) = self.next_entry()? {
            if key == name.as_bytes() || is_replaced && string(key) == name {
                found = Some(value);
            }
        }
        Ok(found.map(string))
    }

    fn next_entry(&mut self) -> Result<Option<RawLabel<'a>>, Error> {
        loop {
            while let Some((number, content)) = self.fields.next()? {
                if number == self.number {
                    return entry(content.bytes()?).map(Some);
                }
            }
            match self.parts.next()? {
                Some(fields) => self.fields = fields,
                None => return Ok(None),
            }
        }
    }
}

fn entry(message: &[u8]) -> Result<RawLabel<'_>, Error> {
    let [mut key, mut value]: [&[u8]; 2] = [b""; 2];
    let mut fields = FieldReader::of(message);
    while let Some((number, content)) = fields.next()? {
        match number {
            1 => key = content.bytes()?,
            2 => value = content.bytes()?,
            _ => {}
        }
    }
    Ok((key, value))
}

impl<'a> Iterator for LabelIter<'a> {
    type Item = Result<Label<'a>, Error>;

    /// Returns `None` after an error.
    fn next(&mut self) -> Option<Self::Item> {
        let found = self.next_entry().transpose();
        let found = found.map(|found| found.map(|(key, value)| (string(key), string(value))));
        if matches!(found, Some(Err(_))) {
            self.fields = FieldReader::of(b"");
            self.parts.number = None;
        }
        found
    }
}

/// Only correct if all labels are valid UTF-8 and none is malformed.
impl selector::Labels for LabelIter<'_> {
    fn value(&self, key: &str) -> Option<&str> {
        let mut found = None;
        for label in self.clone() {
            if let Ok((Cow::Borrowed(k), Cow::Borrowed(value))) = label
                && k == key
            {
                found = Some(value);
            }
        }
        found
    }
}
