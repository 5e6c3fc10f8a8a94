//! The served resources, their versions, and the documents that describe them.

mod custom;
pub(crate) mod discovery;
pub(crate) mod documents;
mod kinds;
mod registry;
mod resource;
#[cfg(test)]
mod tests;

pub(crate) use custom::custom_resources;
pub(crate) use registry::Registry;
pub(crate) use resource::{ObjectSchema, Resource, group_version};

/// The Kubernetes version of the API.
pub const KUBERNETES_VERSION: &str = "v1.36.3";
