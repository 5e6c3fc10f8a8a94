//! What is served: resources, their versions, and the documents that tell clients about them.

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

/// The Kubernetes version whose API is served.
pub const KUBERNETES_VERSION: &str = "v1.36.3";
