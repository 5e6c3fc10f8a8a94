//! Who is measured.

pub mod kube_informer;
pub mod kube_runtime;

/// What a scenario ends with.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
