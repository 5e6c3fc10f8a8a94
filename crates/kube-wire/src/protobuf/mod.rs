//! Kubernetes objects in protobuf (`application/vnd.kubernetes.protobuf`).
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
//! A [`Schema`] reads an object into any type, or only as much of it as is wanted; [`ListReader`] and [`FrameReader`] take
//! lists and watches as they come.
//!
//! JSON is what Kubernetes prints, not what protobuf has: a field that is empty is left out or printed as the Go type
//! says, `null` included. [`encode`] takes any JSON of the kind, ignores fields that the kind does not have and writes the
//! bytes that Kubernetes would write.

mod check;
mod covers;
mod decode;
mod deserialize;
mod encode;
mod envelope;
mod error;
mod forms;
mod incoming;
mod list;
mod list_reader;
mod metadata;
mod prune;
mod read;
mod schema;
#[cfg(test)]
mod tests;
mod time;
mod watch;
mod write;

use serde_json::Value;

use self::decode::Decoder;
use self::encode::Encoder;
use crate::table::{MessageId, table};

pub use self::envelope::Envelope;
pub use self::error::Error;
pub use self::list::ListEncoder;
pub use self::list_reader::{ListEvent, ListMeta, ListReader};
pub use self::metadata::Labels;
pub use self::schema::Schema;
pub use self::watch::{FrameReader, MAX_FRAME, WatchEvent, split_frame};

/// The media type of one object or list.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// The media type of a watch.
pub const WATCH_MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// What every object begins with.
pub const MAGIC: &[u8] = b"k8s\0";

/// How many messages may be in each other. The deepest that Kubernetes has are the schemas of custom resources: of these it is
/// as many as the 127 levels of JSON give, and types that are made of them fit on the stack of a thread of tokio.
const MAX_DEPTH: usize = 64;

/// Whether objects of a kind can be read and written.
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

/// Reads an object in its envelope as JSON.
///
/// See [the module](self) for an example.
#[doc(alias("runtime.Unknown", "UnmarshalProtobuf"))]
pub fn decode(bytes: &[u8]) -> Result<Value, Error> {
    Envelope::parse(bytes)?.decode()
}

impl Envelope<'_> {
    /// Reads the object as JSON, as an object of the kind that the envelope says.
    ///
    /// A server that knows from the path of a request what it has to be can set
    /// [`api_version`](Self::api_version) and [`kind`](Self::kind) before, if they are empty.
    pub fn decode(&self) -> Result<Value, Error> {
        Decoder::new(self.raw.len()).envelope(self, 0)
    }
}

/// Writes an object in its envelope. Its `apiVersion` and `kind` say what it is.
///
/// See [the module](self) for an example.
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
    envelope::close(&mut encoder.writer, api_version, kind, len);
    Ok(encoder.writer.finish())
}

/// Reads a message that is in no envelope, by its name: `k8s.io.api.core.v1.PodSpec`.
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
    Decoder::new(bytes.len()).message(named(message)?, bytes)
}

/// Writes a message that is in no envelope, by its name.
///
/// See [`decode_message`] for an example.
pub fn encode_message(message: &str, value: &Value) -> Result<Vec<u8>, Error> {
    let mut encoder = Encoder::new();
    encoder.message(named(message)?, value, 0)?;
    Ok(encoder.writer.finish())
}

fn named(message: &str) -> Result<MessageId, Error> {
    let found = table().message_named(message);
    found.ok_or_else(|| error::Reason::UnknownMessage(message.to_owned()).into())
}
