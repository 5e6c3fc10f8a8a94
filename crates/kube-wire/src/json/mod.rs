//! Kubernetes objects in JSON (`application/json`), read no more than is wanted.
//!
//! An object can stay the text as which it came: [`identity`](identity()) and [`head`](head()) say what it is,
//! [`matches`](matches()) whether a selector means it, [`prune`](prune()) makes it smaller, and [`decode`](decode()) makes a
//! value of it when somebody needs one. [`ListReader`] cuts a list into its objects while it arrives, [`Lines`] and
//! [`watch_event`] do so for a watch.
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
mod error;
mod filtered;
mod head;
mod key;
mod labels;
mod lines;
mod list;
mod once;
mod place;
mod prune;
mod scan;
#[cfg(test)]
mod tests;
mod watch;

pub use self::decode::{decode, metadata};
pub use self::error::Error;
pub use self::head::{Head, head, identity};
pub use self::labels::{annotation, label, matches};
pub use self::lines::Lines;
pub use self::list::{Items, ListHead, ListReader};
pub use self::prune::{outline, prune};
pub use self::watch::{WatchEvent, watch_event};

/// How many values may be in each other, as serde_json has it.
const MAX_DEPTH: u32 = 127;
