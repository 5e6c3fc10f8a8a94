//! This project's informer.

mod events;
mod joins;
mod pauses;
mod reads;
mod script;

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube_informer::{InformerBuilder, SharedInformer, source::RawObject};

use self::script::Script;
use crate::Outcome;
use crate::pipeline::pods;
use crate::pipeline::scenario::{PipelineScenario, PipelineSize};
use crate::report::Report;

const PATIENCE: Duration = Duration::from_mins(2);

/// Runs a scenario and prints its measurements.
pub async fn run(scenario: PipelineScenario, size: PipelineSize) -> Outcome {
    let report = Report::of("kube-informer");
    match scenario {
        PipelineScenario::Events => events::run(report, size).await,
        PipelineScenario::Reads => reads::run(report, size).await,
        PipelineScenario::Pauses => pauses::run(report, size).await,
        PipelineScenario::Joins => joins::run(report, size).await,
        PipelineScenario::Memory => Err("memory is measured by the program `memory`".into()),
    }
}

/// Returns an informer with a number of pods in its cache. The namespaces need no index.
pub async fn filled(objects: usize) -> Outcome<SharedInformer<Pod>> {
    let script = Script::new();
    script.will_list(pods::pods(objects, 1), 1);
    synced(informer(&script)).await
}

/// Returns updates as a decoder returns them.
fn updates(keys: usize) -> impl Iterator<Item = RawObject<Pod>> + Send {
    pods::updates(keys, 1).filter_map(|pod| RawObject::decoded(pod).ok())
}

fn informer(script: &Script) -> InformerBuilder<Pod> {
    SharedInformer::builder_from(script.clone(), ()).streaming_list(false)
}

async fn synced(informer: InformerBuilder<Pod>) -> Outcome<SharedInformer<Pod>> {
    let informer = informer.build();
    informer.start()?;
    informer.wait_for_sync(PATIENCE).await?;
    Ok(informer)
}
