//! Responses of type `Table` (`meta.k8s.io/v1`), which `kubectl get` requests and prints.
//!
//! [`kube_table`] computes columns and cells. [`Sheet`] assembles them into the response to a list or get request, or into a watch event.

mod sheet;
#[cfg(test)]
mod tests;

pub(crate) use sheet::{IncludeObject, Printer, Sheet, partial_metadata};
