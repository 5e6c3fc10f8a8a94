//! Kubernetes' wire formats.
//!
//! Kubernetes speaks JSON and, for the kinds that it brings itself, protobuf: client-go's typed clients and kubectl send
//! it unless told otherwise. [`protobuf`] reads it into any type that serde can read, and reads and writes it for those who
//! hold objects as JSON: an API server, a proxy, a recorder, a test.
//!
//! ```
//! use kube_wire::protobuf;
//!
//! /// The body of a request, whatever the client chose.
//! fn body(content_type: &str, bytes: &[u8]) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
//!     if content_type == protobuf::MEDIA_TYPE {
//!         Ok(protobuf::decode(bytes)?)
//!     } else {
//!         Ok(serde_json::from_slice(bytes)?)
//!     }
//! }
//! # assert_eq!(body("application/json", b"{}").unwrap(), serde_json::json!({}));
//! ```
//!
//! All kinds of Kubernetes 1.33 to 1.37 that have protobuf are known, from a table that is derived from its Go types. Custom
//! resources have none; [`Error::is_unknown_kind`](protobuf::Error::is_unknown_kind) says so, and JSON is used instead.
//!
//! # Where to look
//!
//! | for | see |
//! |---|---|
//! | protobuf to JSON and back | [`protobuf::decode`], [`protobuf::encode`] |
//! | protobuf into a type of yours, with no JSON between | [`protobuf::Schema`] |
//! | lists and watches as they arrive, in protobuf | [`protobuf::ListReader`], [`protobuf::FrameReader`] |
//! | the same in JSON | [`json::ListReader`], [`json::Lines`], [`json::watch_event`] |
//! | who an object is, without reading the rest | [`Identity`], [`json::identity`](json::identity()), [`json::head`](json::head()) |
//! | leaving fields out while reading | [`FieldMask`] |
//! | label selectors | [`selector::Selector`] |
//! | what is a valid name | [`names`] |
//!
//! It has no features and no Kubernetes version: the types are yours.

mod field_mask;
mod identity;
pub mod json;
mod key;
mod length;
pub mod names;
pub mod protobuf;
mod refusal;
pub mod selector;
mod table;

pub use self::field_mask::{FieldMask, ParsePathError};
pub use self::identity::Identity;
