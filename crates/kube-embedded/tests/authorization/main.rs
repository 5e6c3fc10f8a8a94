//! Authentication and authorization, through kube's client.

mod common;
mod decisions;
mod grants;
mod identities;
mod reviews;
mod tokens;
