//! The recorded limitations of client-go, one test for each that a library in Rust could have. The numbers are those of
//! `docs/conformance/limitations.md`, which also says why the others cannot occur.

mod handlers;
mod requests;
mod users_code;
mod versions;
