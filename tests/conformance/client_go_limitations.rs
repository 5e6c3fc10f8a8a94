//! The recorded limitations of client-go that a Rust library could have, one test each.
//!
//! The numbers are those of `docs/conformance/limitations.md`, which also explains why the others cannot
//! occur.

mod handlers;
mod requests;
mod user_functions;
mod versions;
