//! Requests: path, verb, options and representation.

mod negotiate;
mod path;
mod query;

pub(crate) use negotiate::{Encoding, OFFERED, ObjectForm, Representation};
pub use path::Verb;
pub(crate) use path::{ObjectPath, PathError, Target};
pub(crate) use query::{FieldValidation, Query, check_dry_run};
