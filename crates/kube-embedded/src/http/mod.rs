//! HTTP: reads requests, calls the verbs, and writes responses.

mod compress;
mod documents;
mod head;
mod mangle;
mod request_body;
mod respond;
mod service;

pub(crate) use service::serve;
