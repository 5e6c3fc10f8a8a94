//! Kubernetes objects in JSON (`application/json`), without decoding more than needed.
//!
//! Objects can stay text: [`identity`](identity()) and [`head`](head()) identify an object, [`matches`](matches())
//! applies a label selector, [`prune`](prune()) removes fields, and [`decode`](decode()) decodes the object into a
//! type. [`ListReader`] splits lists into objects while they are received; [`LineReader`] and [`watch_event`] do the
//! same for watches.
//!
//! # Examples
//!
//! ```
//! use kube_wire::{FieldMask, json};
//!
//! #[derive(serde::Deserialize)]
//! struct Meta<'a> {
//!     name: &'a str,
//! }
//!
//! let text = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"7"}}"#;
//! assert_eq!(json::identity(text)?.resource_version, "7");
//! let meta: Meta = json::metadata(text, &FieldMask::managed_fields())?;
//! assert_eq!(meta.name, "a");
//! # Ok::<(), json::Error>(())
//! ```

mod cursor;
mod decode;
mod duplicate_check;
mod error;
mod field_path;
mod head;
mod key_seed;
mod labels;
mod line_reader;
mod list_reader;
mod mask_filter;
mod prune;
mod scanner;
#[cfg(test)]
mod tests;
mod watch;

pub use self::decode::{decode, metadata};
pub use self::error::Error;
pub use self::head::{Head, head, identity};
pub use self::labels::{annotation, label, matches};
pub use self::line_reader::LineReader;
pub use self::list_reader::{Items, ListHead, ListReader};
pub use self::prune::{outline, prune};
pub use self::watch::{WatchEvent, watch_event};

/// Maximum nesting depth, the same as in serde_json.
const MAX_DEPTH: u32 = 127;
