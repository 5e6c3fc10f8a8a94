//! Kubernetes wire formats.
//!
//! Kubernetes uses JSON and, for built-in kinds, protobuf. client-go's typed clients and kubectl send protobuf by
//! default. [`protobuf`] decodes it into any type that implements `serde::Deserialize`, and converts it to and from
//! JSON for programs that handle objects as JSON, such as API servers, proxies and tests.
//!
//! ```
//! use kube_wire::protobuf;
//!
//! /// Parses the body of a request in either encoding.
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
//! A table derived from the Go types of Kubernetes describes every built-in kind of Kubernetes 1.33 to 1.37 that has
//! a protobuf encoding. Custom resources have none: use JSON if
//! [`Error::is_unknown_kind`](protobuf::Error::is_unknown_kind) returns true.
//!
//! # Overview
//!
//! | task | items |
//! |---|---|
//! | convert protobuf to JSON and back | [`protobuf::decode`], [`protobuf::encode`] |
//! | decode protobuf into any type | [`protobuf::Schema`] |
//! | read protobuf lists and watches incrementally | [`protobuf::ListReader`], [`protobuf::FrameReader`] |
//! | read JSON lists and watches incrementally | [`json::ListReader`], [`json::LineReader`], [`json::watch_event`] |
//! | identify an object without decoding it | [`Identity`], [`json::identity`](json::identity()), [`json::head`](json::head()) |
//! | skip fields while reading | [`FieldMask`] |
//! | match label selectors | [`selector::Selector`] |
//! | validate names and labels | [`names`] |
//!
//! The crate has no features and does not depend on a Kubernetes version: the types are the caller's.

mod chunk;
mod field_mask;
mod identity;
pub mod json;
mod key_deserializer;
mod length;
pub mod names;
pub mod protobuf;
mod redaction;
pub mod selector;
mod table;
#[cfg(test)]
mod test_util;

pub use self::field_mask::{FieldMask, ParsePathError};
pub use self::identity::Identity;
