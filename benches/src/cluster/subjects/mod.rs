//! The subjects of the benchmark on a cluster.

mod floor;
mod kube_informer;
mod kube_runtime;

use clap::{Subcommand, ValueEnum};
use k8s_openapi::api::core::v1::Pod;

use self::floor::Floor;
use self::kube_informer::Informer;
use self::kube_runtime::Reflector;
use super::arrivals::Arrivals;
use super::command_loop::CommandLoop;
use super::projection::PodSummary;
use crate::Outcome;

/// A subject and its options.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum SubjectOptions {
    /// This project's informer with one handler.
    KubeInformer {
        /// The format of cached objects.
        form: ObjectFormat,
        /// The encoding of responses.
        wire: Wire,
    },
    /// kube-runtime's watcher and reflector with one consumer.
    KubeRuntime {
        /// The kind of lists.
        list_mode: ListMode,
    },
    /// Downloads a list and discards it.
    Floor {
        /// The encoding of responses.
        wire: Wire,
    },
}

/// The cache format of this project's informer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ObjectFormat {
    /// Objects of k8s-openapi's type.
    Typed,
    /// Packed objects of k8s-openapi's type.
    Packed,
    /// Objects of a small type.
    Projection,
    /// Packed objects of a small type.
    PackedProjection,
}

/// The encoding of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Wire {
    /// Protobuf, as Kubernetes' own components use it.
    Protobuf,
    /// JSON.
    Json,
}

/// The kind of kube-runtime's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListMode {
    /// Lists with pages.
    List,
    /// Watches with initial events.
    Streaming,
}

pub(super) async fn run(options: SubjectOptions, arrivals: Arrivals, commands: CommandLoop) -> Outcome {
    match options {
        SubjectOptions::KubeInformer { form, wire } => match form {
            ObjectFormat::Typed | ObjectFormat::Packed => {
                commands
                    .run(Informer::<Pod>::new(arrivals, form, wire).await?)
                    .await
            }
            ObjectFormat::Projection | ObjectFormat::PackedProjection => {
                commands
                    .run(Informer::<PodSummary>::new(arrivals, form, wire).await?)
                    .await
            }
        },
        SubjectOptions::KubeRuntime { list_mode } => {
            commands.run(Reflector::new(arrivals, list_mode).await?).await
        }
        SubjectOptions::Floor { wire } => commands.run(Floor::new(wire).await?).await,
    }
}
