//! The longest wait of a reader.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::Notify;

use super::script::Script;
use super::{PATIENCE, informer, synced};
use crate::Outcome;
use crate::measure::longest_call;
use crate::pipeline::pods;
use crate::pipeline::scenario::{BASELINE_DURATION, PipelineSize, switch};
use crate::report::Report;

pub(super) async fn run(report: Report, size: PipelineSize) -> Outcome {
    let objects = size.objects();
    let script = Script::new();
    script.will_list(pods::pods(objects, 1), 1);
    let gate = Arc::new(Notify::new());
    script.will_expire(&gate);
    let informer = synced(informer(&script)).await?;
    script.listing.notified().await;
    let keys: Arc<[(String, String)]> = pods::order(objects)
        .into_iter()
        .map(|number| (pods::namespace(number), pods::name(number)))
        .collect();
    let longest = |going: &Arc<std::sync::atomic::AtomicBool>| {
        let (lister, keys, going) = (informer.lister(), Arc::clone(&keys), Arc::clone(going));
        tokio::task::spawn_blocking(move || {
            longest_call(&going, |call| {
                let (namespace, name) = &keys[call % keys.len()];
                black_box(lister.namespace(namespace).get(name)).expect("every pod is there");
            })
        })
    };

    let (mut floors, mut pauses) = (Vec::new(), Vec::new());
    for version in 2..2 + size.tries() as u64 {
        script.will_list(pods::pods(objects, version), version);
        script.will_expire(&gate);

        let going = switch(true);
        let floor = longest(&going);
        tokio::time::sleep(BASELINE_DURATION).await;
        going.store(false, Ordering::Relaxed);
        floors.push(floor.await?);

        gate.notify_one();
        script.listing.notified().await;
        let going = switch(true);
        let pause = longest(&going);
        informer
            .wait_for_version(version.to_string().as_str(), PATIENCE)
            .await?;
        going.store(false, Ordering::Relaxed);
        pauses.push(pause.await?);
    }
    report.longest("longest get, no writer", &floors);
    report.longest("longest get, all objects replaced", &pauses);
    informer.shutdown().await;
    Ok(())
}
