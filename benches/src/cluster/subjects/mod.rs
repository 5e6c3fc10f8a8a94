//! Who is measured.

mod floor;
mod kube_informer;
mod kube_runtime;

use clap::{Subcommand, ValueEnum};
use k8s_openapi::api::core::v1::Pod;

use self::floor::Floor;
use self::kube_informer::Informer;
use self::kube_runtime::Reflector;
use super::arrivals::Arrivals;
use super::conversation::Conversation;
use super::projection::PodSummary;
use crate::Outcome;

/// A subject and how it is set.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum Choice {
    /// This project's informer with one handler.
    KubeInformer {
        /// How objects are kept.
        form: ObjectFormat,
        /// How they come.
        wire: Wire,
    },
    /// kube-runtime's watcher and reflector with one consumer.
    KubeRuntime {
        /// How it lists.
        manner: Manner,
    },
    /// Nobody: the bytes of a list are thrown away.
    Floor {
        /// How they come.
        wire: Wire,
    },
}

/// How this project's informer keeps objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ObjectFormat {
    /// An object of k8s-openapi's type for each.
    Typed,
    /// The bytes of each.
    Packed,
    /// A small struct for each.
    Projection,
    /// The bytes that a small struct is made of, for each.
    PackedProjection,
}

/// The encoding of objects on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Wire {
    /// As Kubernetes' own components speak.
    Protobuf,
    /// As everybody speaks.
    Json,
}

/// How kube-runtime lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Manner {
    /// Page by page.
    List,
    /// As a watch that begins with everything.
    Streaming,
}

pub(super) async fn run(choice: Choice, arrivals: Arrivals, conversation: Conversation) -> Outcome {
    match choice {
        Choice::KubeInformer { form, wire } => match form {
            ObjectFormat::Typed | ObjectFormat::Packed => {
                conversation
                    .with(Informer::<Pod>::new(arrivals, form, wire).await?)
                    .await
            }
            ObjectFormat::Projection | ObjectFormat::PackedProjection => {
                conversation
                    .with(Informer::<PodSummary>::new(arrivals, form, wire).await?)
                    .await
            }
        },
        Choice::KubeRuntime { manner } => conversation.with(Reflector::new(arrivals, manner).await?).await,
        Choice::Floor { wire } => conversation.with(Floor::new(wire).await?).await,
    }
}
