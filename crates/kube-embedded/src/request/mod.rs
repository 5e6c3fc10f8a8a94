//! What a request asks for: its path, verb, options and representation.

mod json;
mod negotiate;
mod path;
mod query;

pub(crate) use json::read as read_json;
pub(crate) use negotiate::{Encoding, Form, OFFERED, Representation};
pub use path::Verb;
pub(crate) use path::{NoTarget, ObjectPath, Target};
pub(crate) use query::{FieldValidation, Query, check_dry_run, unsigned};
