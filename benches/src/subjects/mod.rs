//! Who is measured.

pub mod kube_informer;
pub mod kube_runtime;

/// The ones that are written in Rust.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Subject {
    /// This project.
    KubeInformer,
    /// kube's runtime.
    KubeRuntime,
}

/// What a scenario ends with.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
