//! From HTTP to the API and back.

mod body;
mod compress;
mod documents;
mod head;
mod json;
mod mangle;
mod negotiate;
mod path;
mod permit;
mod query;
mod request_body;
mod respond;
mod service;

pub(crate) use body::{Body, broken_off};
pub(crate) use json::read as read_json;
pub(crate) use negotiate::{Encoding, Form, Representation};
pub(crate) use path::ObjectPath;
pub use path::Verb;
pub(crate) use query::{FieldValidation, Query, check_dry_run, unsigned};
pub(crate) use service::serve;
