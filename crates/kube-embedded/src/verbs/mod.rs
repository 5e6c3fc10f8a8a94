//! What clients can do: read, follow, write, delete, and the parts and reviews that are not plain objects.

mod chunks;
mod connect;
mod delete;
mod list;
mod log;
mod options;
mod patch;
mod review;
mod subresource;
mod token;
mod view;
mod watch;
mod write;

pub(crate) use connect::leads_to_a_node;
pub(crate) use delete::{DeleteOptions, Deleted, FOREGROUND, ORPHAN, Propagation, answers_with_object};
pub(crate) use options::ListOptions;
pub(crate) use patch::PatchKind;
pub(crate) use subresource::get_subresource;
pub(crate) use view::{View, write as write_value, write_json};
pub(crate) use write::{Body, WriteOptions, WriteResult, Written, is_finished, timestamp};
