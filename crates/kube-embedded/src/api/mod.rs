//! What is served: resources, their versions, and the documents that tell clients about them.

pub(crate) mod discovery;
pub(crate) mod documents;
mod kinds;
mod registry;
mod resource;
#[cfg(test)]
mod tests;

pub(crate) use registry::Registry;
pub(crate) use resource::{Form, Resource, Subresource, group_version};
