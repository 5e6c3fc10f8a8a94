//! Faults of other informers that do not occur here: see docs/conformance/limitations.md.

mod handlers;
mod requests;
mod users_code;
mod versions;
