//! An object's metadata, without reading the object.

use std::borrow::Cow;
use std::num::NonZeroU16;

use serde::Deserialize;

use super::deserialize;
use super::forms::string;
use super::read::Fields;
use super::write::Writer;
use super::{Error, Schema};
use crate::Identity;
use crate::field_mask::FieldMask;
use crate::selector::{self, Selector};
use crate::table::{Kind, MessageId, table};

const OBJECT_META: &str = "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta";

// Numbers of fields are forever.
const NAME: u64 = 1;
const NAMESPACE: u64 = 3;
const UID: u64 = 5;
const RESOURCE_VERSION: u64 = 6;
const LABELS: u64 = 11;
const ANNOTATIONS: u64 = 12;

/// The number of the field that holds an object's metadata; none if the message is of no object.
pub(super) fn number(id: MessageId) -> Option<NonZeroU16> {
    let object_meta = table().message_named(OBJECT_META).map(Kind::Message);
    let mut fields = table().fields(table().message(id)).iter();
    let found = fields.find(|field| field.name == "metadata" && Some(field.kind) == object_meta);
    found.and_then(|field| NonZeroU16::new(field.number))
}

impl Schema {
    /// What makes an object known. A message of something that is no object has nothing of it.
    ///
    /// ```
    /// use kube_wire::protobuf::{Envelope, Schema, encode};
    ///
    /// let node = serde_json::json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "7"}});
    /// let bytes = encode(&node)?;
    /// let schema = Schema::of("v1", "Node").expect("Kubernetes has nodes");
    /// let identity = schema.identity(Envelope::parse(&bytes)?.raw)?;
    /// assert_eq!((&*identity.name, &*identity.namespace, &*identity.uid), ("n", "", "7"));
    /// # Ok::<(), kube_wire::protobuf::Error>(())
    /// ```
    pub fn identity<'a>(&self, message: &'a [u8]) -> Result<Identity<'a>, Error> {
        let [mut name, mut namespace, mut uid, mut resource_version]: [&[u8]; 4] = [b""; 4];
        let mut pieces = self.metadata_pieces(message);
        while let Some(mut fields) = pieces.next()? {
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

    /// Reads an object's `metadata` only, which must not be wanted of something that is no object.
    pub fn metadata<'de, T: Deserialize<'de>>(
        &self,
        message: &'de [u8],
        mask: &FieldMask,
    ) -> Result<T, Error> {
        deserialize::field(self.id, "metadata", message, mask)?
            .ok_or_else(|| Error::expected("an object with metadata"))
    }

    /// An object's labels, in the order of the wire. If a key comes twice, the last one counts.
    pub fn labels<'a>(&self, message: &'a [u8]) -> Labels<'a> {
        self.entries(LABELS, message)
    }

    /// An object's annotations, in the same way.
    pub fn annotations<'a>(&self, message: &'a [u8]) -> Labels<'a> {
        self.entries(ANNOTATIONS, message)
    }

    fn entries(self, number: u64, message: &[u8]) -> Labels<'_> {
        Labels {
            number,
            pieces: self.metadata_pieces(message),
            fields: Fields::of(b""),
        }
    }

    /// Whether a selector selects the object.
    ///
    /// ```
    /// use kube_wire::protobuf::{Envelope, Schema, encode};
    /// use kube_wire::selector::Selector;
    ///
    /// let bytes = encode(&serde_json::json!({
    ///     "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"zone": "north"}},
    /// }))?;
    /// let schema = Schema::of("v1", "Node").expect("Kubernetes has nodes");
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
        // The first of equal keys counts there.
        replaced.reverse();
        Ok(selector.matches(&replaced[..]))
    }

    /// One of an object's labels.
    pub fn label<'a>(&self, message: &'a [u8], name: &str) -> Result<Option<Cow<'a, str>>, Error> {
        self.labels(message).last_of(name)
    }

    /// One of an object's annotations.
    pub fn annotation<'a>(&self, message: &'a [u8], name: &str) -> Result<Option<Cow<'a, str>>, Error> {
        self.annotations(message).last_of(name)
    }

    /// Adds to `out` an object that has nothing but what others are chosen by: labels, uid, owners, finalizers and times,
    /// all in its metadata. [`matches`](Self::matches) and [`label`](Self::label) say the same of it as of the whole object.
    pub fn outline(&self, message: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let number = self
            .metadata
            .ok_or_else(|| Error::expected("an object with metadata"))?
            .get();
        let mut metadata = Writer::default();
        let mut fields = Fields::of(message);
        while let Some((found, content)) = fields.next()? {
            if found == u64::from(number) {
                metadata.bytes_field(number, content.bytes()?);
            }
        }
        self.prune(&metadata.finish(), FieldMask::all_but_an_outline(), out)
    }

    fn metadata_pieces(self, message: &[u8]) -> Pieces<'_> {
        Pieces {
            number: self.metadata.map(|number| number.get().into()),
            fields: Fields::of(message),
        }
    }
}

/// The pieces of an object's metadata: mostly there is one.
#[derive(Clone, Debug)]
struct Pieces<'a> {
    number: Option<u64>,
    fields: Fields<'a>,
}

impl<'a> Pieces<'a> {
    fn next(&mut self) -> Result<Option<Fields<'a>>, Error> {
        let Some(metadata) = self.number else {
            return Ok(None);
        };
        while let Some((number, content)) = self.fields.next()? {
            if number == metadata {
                return content.bytes().map(|bytes| Some(Fields::of(bytes)));
            }
        }
        Ok(None)
    }
}

/// A key and its value, as they are on the wire.
type Entry<'a> = (&'a [u8], &'a [u8]);

/// The same as text.
type Label<'a> = (Cow<'a, str>, Cow<'a, str>);

/// The labels of an object, or its annotations: see [`Schema::labels`].
#[derive(Clone, Debug)]
pub struct Labels<'a> {
    number: u64,
    pieces: Pieces<'a>,
    fields: Fields<'a>,
}

impl<'a> Labels<'a> {
    fn last_of(mut self, name: &str) -> Result<Option<Cow<'a, str>>, Error> {
        // Only such a name can be that of a key that is no text.
        let is_replaced = name.contains(char::REPLACEMENT_CHARACTER);
        let mut found = None;
        while let Some((key, value)) = self.find()? {
            if key == name.as_bytes() || is_replaced && string(key) == name {
                found = Some(value);
            }
        }
        Ok(found.map(string))
    }

    fn find(&mut self) -> Result<Option<Entry<'a>>, Error> {
        loop {
            while let Some((number, content)) = self.fields.next()? {
                if number == self.number {
                    return entry(content.bytes()?).map(Some);
                }
            }
            match self.pieces.next()? {
                Some(fields) => self.fields = fields,
                None => return Ok(None),
            }
        }
    }
}

fn entry(message: &[u8]) -> Result<Entry<'_>, Error> {
    let [mut key, mut value]: [&[u8]; 2] = [b""; 2];
    let mut fields = Fields::of(message);
    while let Some((number, content)) = fields.next()? {
        match number {
            1 => key = content.bytes()?,
            2 => value = content.bytes()?,
            _ => {}
        }
    }
    Ok((key, value))
}

impl<'a> Iterator for Labels<'a> {
    type Item = Result<Label<'a>, Error>;

    /// After an error there is nothing more.
    fn next(&mut self) -> Option<Self::Item> {
        let found = self.find().transpose();
        let found = found.map(|found| found.map(|(key, value)| (string(key), string(value))));
        if matches!(found, Some(Err(_))) {
            self.fields = Fields::of(b"");
            self.pieces.number = None;
        }
        found
    }
}

/// Of labels that are all there and all text.
impl selector::Labels for Labels<'_> {
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
