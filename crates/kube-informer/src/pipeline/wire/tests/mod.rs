//! From bytes to items: everything a server may send, and what is made of it.

mod discovery;
mod http;
mod json;
mod protobuf;
mod sockets;
