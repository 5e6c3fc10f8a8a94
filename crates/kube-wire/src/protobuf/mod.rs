//! Kubernetes objects in protobuf (`application/vnd.kubernetes.protobuf`).
//!
//! # Examples
//!
//! ```
//! use kube_wire::protobuf::{decode, encode};
//! use serde_json::json;
//!
//! let scale = json!({
//!     "apiVersion": "autoscaling/v1",
//!     "kind": "Scale",
//!     "metadata": {"name": "web", "namespace": "default"},
//!     "spec": {"replicas": 3},
//!     "status": {"replicas": 2},
//! });
//! let bytes = encode(&scale)?;
//! assert!(bytes.starts_with(b"k8s\0"));
//! assert_eq!(decode(&bytes)?, scale);
//! # Ok::<(), kube_wire::protobuf::Error>(())
//! ```
//!
//! A [`Schema`] decodes an object into any type, or only a part of it. [`ListReader`] and [`FrameReader`] read lists
//! and watches incrementally.
//!
//! JSON is the output of Kubernetes: empty fields are omitted or printed as the Go type prescribes, including `null`.
//! [`encode`] accepts any JSON of the kind, ignores unknown fields, and produces the same bytes as Kubernetes.

mod check;
mod convert;
mod coverage;
mod decode;
mod deserialize;
mod encode;
mod envelope;
mod error;
mod field_reader;
mod input_buffer;
mod list_encoder;
mod list_reader;
mod metadata;
mod prune;
mod schema;
#[cfg(test)]
mod tests;
mod time;
mod watch;
mod writer;

use serde_json::Value;

use self::decode::Decoder;
use self::encode::Encoder;
use crate::table::{MessageId, table};

pub use self::envelope::Envelope;
pub use self::error::Error;
pub use self::list_encoder::ListEncoder;
pub use self::list_reader::{ListEvent, ListMeta, ListReader};
pub use self::metadata::LabelIter;
pub use self::schema::Schema;
pub use self::watch::{FrameReader, MAX_FRAME, WatchEvent, split_frame};

/// Media type of an object or a list.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Media type of a watch.
pub const WATCH_MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// The first bytes of every object.
pub const MAGIC: &[u8] = b"k8s\0";

/// Maximum nesting depth of messages. The schemas of custom resources are nested deepest: the limit corresponds to
/// the 127 levels of JSON, and their types fit on the stack of a tokio thread.
const MAX_DEPTH: usize = 64;

/// Returns whether a kind can be decoded and encoded.
///
/// # Examples
///
/// ```
/// use kube_wire::protobuf::is_known;
///
/// assert!(is_known("apps/v1", "DeploymentList"));
/// assert!(!is_known("example.org/v1", "Widget"));
/// ```
pub fn is_known(api_version: &str, kind: &str) -> bool {
    table().kind(api_version, kind).is_some()
}

/// Decodes an object in its envelope to JSON.
///
/// See [the module](self) for an example.
///
/// # Errors
/// Returns an error if the bytes are malformed, exceed a limit, or if the kind is unknown.
#[doc(alias("runtime.Unknown", "UnmarshalProtobuf"))]
pub fn decode(bytes: &[u8]) -> Result<Value, Error> {
    Envelope::parse(bytes)?.decode()
}

impl Envelope<'_> {
    /// Decodes the object to JSON, as an object of the envelope's kind.
    ///
    /// If [`api_version`](Self::api_version) and [`kind`](Self::kind) are empty, a server can first set them from the
    /// path of the request.
    ///
    /// # Errors
    /// Returns an error if the message is malformed, exceeds a limit, or if the kind is unknown.
    pub fn decode(&self) -> Result<Value, Error> {
        Decoder::new(self.raw.len()).envelope(self, 0)
    }
}

/// Encodes an object in its envelope. Its `apiVersion` and `kind` determine the schema.
///
/// See [the module](self) for an example.
///
/// # Errors
/// Returns an error if the kind is unknown, or if the object does not match the schema or is nested too deep.
#[doc(alias = "runtime.Unknown")]
pub fn encode(object: &Value) -> Result<Vec<u8>, Error> {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    let id = table()
        .kind(api_version, kind)
        .ok_or_else(|| Error::unknown_kind(api_version, kind))?;
    let mut encoder = Encoder::new();
    encoder.writer.bytes(envelope::NO_CONTENT_TYPE);
    let before = encoder.writer.len();
    encoder.message(id, object, 0)?;
    let len = encoder.writer.len() - before;
    envelope::write_header(&mut encoder.writer, api_version, kind, len);
    Ok(encoder.writer.finish())
}

/// Decodes a message without an envelope to JSON. `message` is its full name, for example
/// `k8s.io.api.core.v1.PodSpec`.
///
/// # Errors
/// Returns an error if the message is unknown, or if the bytes are malformed or exceed a limit.
///
/// # Examples
///
/// ```
/// use kube_wire::protobuf::{decode_message, encode_message};
/// use serde_json::json;
///
/// let port = json!({"containerPort": 80, "protocol": "TCP"});
/// let bytes = encode_message("k8s.io.api.core.v1.ContainerPort", &port)?;
/// assert_eq!(decode_message("k8s.io.api.core.v1.ContainerPort", &bytes)?, port);
/// # Ok::<(), kube_wire::protobuf::Error>(())
/// ```
pub fn decode_message(message: &str, bytes: &[u8]) -> Result<Value, Error> {
    Decoder::new(bytes.len()).message(message_id(message)?, bytes)
}

/// Encodes a message without an envelope. `message` is its full name.
///
/// See [`decode_message`] for an example.
///
/// # Errors
/// Returns an error if the message is unknown, or if the value does not match the schema or is nested too deep.
pub fn encode_message(message: &str, value: &Value) -> Result<Vec<u8>, Error> {
    let mut encoder = Encoder::new();
    encoder.message(message_id(message)?, value, 0)?;
    Ok(encoder.writer.finish())
}

fn message_id(message: &str) -> Result<MessageId, Error> {
    let found = table().message_named(message);
    found.ok_or_else(|| error::ProtobufErrorKind::UnknownMessage(message.to_owned()).into())
}
