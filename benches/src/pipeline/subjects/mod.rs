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
