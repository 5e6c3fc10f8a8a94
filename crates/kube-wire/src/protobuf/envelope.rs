//! The envelope of an object.

use std::fmt;

use super::error::ProtobufErrorKind;
use super::field_reader::FieldReader;
use super::writer::Writer;
use super::{Error, MAGIC};
use crate::length::Length;

/// The bytes after the object, without content type and encoding.
pub(super) const NO_CONTENT_TYPE: &[u8] = b"\x1a\x00\x22\x00";

/// An encoded object and its kind: Kubernetes' `runtime.Unknown`.
///
/// Messages do not contain their kind, so every object is sent in an envelope.
///
/// # Examples
///
/// ```
/// use kube_wire::protobuf::Envelope;
///
/// let bytes = Envelope::new("v1", "Pod", b"").to_bytes();
/// assert_eq!(bytes, b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x00\x1a\x00\x22\x00");
/// assert_eq!(Envelope::parse(&bytes)?.kind, "Pod");
/// # Ok::<(), kube_wire::protobuf::Error>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// apiVersion of the object. Empty if the sender leaves it to the receiver.
    pub api_version: &'a str,
    /// Kind of the object. Empty if the sender leaves it to the receiver.
    pub kind: &'a str,
    /// The message of the object.
    pub raw: &'a [u8],
    /// Encoding of `raw`. Kubernetes leaves it empty.
    pub content_encoding: &'a str,
    /// Media type of `raw`. Kubernetes leaves it empty, which means protobuf.
    pub content_type: &'a str,
}

impl fmt::Debug for Envelope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envelope")
            .field("api_version", &self.api_version)
            .field("kind", &self.kind)
            .field("raw", &Length(self.raw.len()))
            .field("content_encoding", &self.content_encoding)
            .field("content_type", &self.content_type)
            .finish()
    }
}

impl<'a> Envelope<'a> {
    /// Creates an envelope with the same fields as Kubernetes.
    pub fn new(api_version: &'a str, kind: &'a str, raw: &'a [u8]) -> Self {
        Self {
            api_version,
            kind,
            raw,
            ..Self::default()
        }
    }

    /// Parses an envelope. Does not read the object in it.
    ///
    /// # Errors
    /// Returns an error if the bytes do not start with [`MAGIC`] or are malformed.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut fields = FieldReader::of(bytes.strip_prefix(MAGIC).ok_or(ProtobufErrorKind::NotProtobuf)?);
        let mut envelope = Self::default();
        while let Some((number, content)) = fields.next()? {
            match number {
                1 => envelope.read_type(content.bytes()?)?,
                2 => envelope.raw = content.bytes()?,
                3 => envelope.content_encoding = text(content.bytes()?)?,
                4 => envelope.content_type = text(content.bytes()?)?,
                _ => {}
            }
        }
        Ok(envelope)
    }

    fn read_type(&mut self, message: &'a [u8]) -> Result<(), Error> {
        let mut fields = FieldReader::of(message);
        while let Some((number, content)) = fields.next()? {
            match number {
                1 => self.api_version = text(content.bytes()?)?,
                2 => self.kind = text(content.bytes()?)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Encodes the envelope.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.bytes_field(4, self.content_type.as_bytes());
        writer.bytes_field(3, self.content_encoding.as_bytes());
        writer.bytes(self.raw);
        write_header(&mut writer, self.api_version, self.kind, self.raw.len());
        writer.finish()
    }
}

/// Writes the part before an object of length `len`.
pub(super) fn write_header(writer: &mut Writer, api_version: &str, kind: &str, len: usize) {
    writer.close(2, len);
    let before = writer.len();
    writer.bytes_field(2, kind.as_bytes());
    writer.bytes_field(1, api_version.as_bytes());
    writer.close_since(1, before);
    writer.bytes(MAGIC);
}

pub(super) fn text(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|_| Error::malformed("apiVersion or kind is not valid UTF-8"))
}
