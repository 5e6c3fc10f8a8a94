//! The bodies of responses: encoded values, and streams of chunks.

mod body;
mod chunks;
mod encode;

pub(crate) use body::{Body, broken_off};
pub(crate) use chunks::Chunks;
pub(crate) use encode::{encode, encode_json};
