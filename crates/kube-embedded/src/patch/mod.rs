//! Patches, and the managers of fields.
//!
//! There are four kinds of patches: [`json`] (RFC 6902), [`merge`] (RFC 7386), [`strategic`], which merges by type, and
//! server-side [`apply`](mod@apply), which also records in `metadata.managedFields` who owns which fields. [`update`]
//! records that for all other writes.

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
