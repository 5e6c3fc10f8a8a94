//! Tests of parsing everything that a server may send.

mod discovery;
mod http;
mod json;
mod protobuf;
mod sockets;
