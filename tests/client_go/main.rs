//! A real client-go program at work on the server.
//!
//! The program is `tests/client-go`; what it finds is compared with what the server itself lists.

mod informers;
mod requests;
