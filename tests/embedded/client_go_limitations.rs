//! Limitations of client-go that this project does not have: see `docs/conformance/limitations.md`.

mod handlers;
mod requests;
mod user_functions;
mod versions;
