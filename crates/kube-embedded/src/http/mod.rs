//! HTTP: reads requests, calls the verbs, and writes responses.

mod compress;
mod documents;
mod head;
mod health;
mod mangle;
mod permission;
mod request_body;
mod respond;
mod service;
mod timeout;
mod yaml;

pub(crate) use service::serve;
