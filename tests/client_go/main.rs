//! A client-go program against the server.
//!
//! The program is in `go/`; its results are compared with what the server lists.

mod informers;
mod requests;
