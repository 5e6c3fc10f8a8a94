//! Helpers that have nothing to do with Kubernetes.

pub(crate) mod panics;
pub(crate) mod sync;
