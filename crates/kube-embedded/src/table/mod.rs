//! Responses of type `Table` (`meta.k8s.io/v1`), which `kubectl get` requests and prints.
//!
//! [`kube_table`] computes columns and cells. [`TableBuilder`] converts them to the response to a list or get request,
//! or to a watch event.

mod builder;
#[cfg(test)]
mod tests;

pub(crate) use builder::{IncludeObject, Printer, TableBuilder, partial_metadata};
