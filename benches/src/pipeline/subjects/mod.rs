//! The subjects of the benchmark of the pipeline.

pub mod kube_informer;
pub mod kube_runtime;

/// The subjects written in Rust.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum PipelineSubject {
    /// This project.
    KubeInformer,
    /// kube-runtime.
    KubeRuntime,
}
