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
use crate::pipeline::scenario::{Scenario, Size};
use crate::report::Report;

const PATIENCE: Duration = Duration::from_mins(2);

/// Runs a scenario and prints its figures.
pub async fn run(scenario: Scenario, size: Size) -> Outcome {
    let report = Report::of("kube-informer");
    match scenario {
        Scenario::Events => events::run(report, size).await,
        Scenario::Reads => reads::run(report, size).await,
        Scenario::Pauses => pauses::run(report, size).await,
        Scenario::Joins => joins::run(report, size).await,
        Scenario::Memory => Err("memory is measured by the program `memory`".into()),
    }
}

/// An informer whose cache holds so many pods; the namespaces need no index.
pub async fn filled(objects: usize) -> Outcome<SharedInformer<Pod>> {
    let script = Script::new();
    script.will_list(pods::pods(objects, 1), 1);
    synced(informer(&script)).await
}

/// Updates as they come from a decoder.
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
