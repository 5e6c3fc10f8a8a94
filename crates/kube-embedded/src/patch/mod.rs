//! How an object changes by a patch, and who owns which of its fields.
//!
//! Three kinds of patch say what to change: [`json`] (RFC 6902), [`merge`] (RFC 7386) and [`strategic`], which knows the
//! types. The fourth, server-side [`apply`](mod@apply), says what its sender wants to have: it merges by type and keeps
//! books in `metadata.managedFields`. Every other write is entered in the same books by [`update`].

pub(crate) mod apply;
pub(crate) mod field_set;
pub(crate) mod json;
mod last_applied;
mod managers;
pub(crate) mod merge;
pub(crate) mod reset;
pub(crate) mod scale;
pub(crate) mod strategic;
mod typed;
pub(crate) mod update;

#[cfg(test)]
mod tests;
