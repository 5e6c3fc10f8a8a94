//! The operations of clients: reads, watches, writes, deletions, subresources and reviews.

mod connect;
mod delete;
mod list;
mod log;
mod options;
mod patch;
mod policies;
mod review;
mod subresource;
mod token;
mod view;
mod watch;
mod write;

pub(crate) use connect::{connect, is_node_request};
pub(crate) use delete::{
    DeleteOptions, Deleted, FOREGROUND, ORPHAN, Propagation, answers_with_object, delete, delete_collection,
    delete_object,
};
pub(crate) use list::{find, get, list};
pub(crate) use options::ListOptions;
pub(crate) use patch::{PatchKind, patch};
pub(crate) use policies::{Warnings, check_connection};
pub(crate) use subresource::{get_subresource, special_write};
pub(crate) use view::View;
pub(crate) use watch::watch;
pub(crate) use write::{Body, WriteOptions, WriteResult, Written, commit, create, is_finished, update};
