//! The longest wait of a reader.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::{StreamExt, stream};
use tokio::sync::{Notify, mpsc};

use super::{kept, keys, listed};
use crate::Outcome;
use crate::measure::longest_call;
use crate::pipeline::pods;
use crate::pipeline::scenario::{BASELINE_DURATION, PipelineSize, switch};
use crate::report::Report;

pub(super) async fn run(report: Report, size: PipelineSize) -> Outcome {
    let objects = size.objects();
    let (lists, mut asked) = mpsc::unbounded_channel();
    let replaced = Arc::new(Notify::new());
    let tell = Arc::clone(&replaced);
    // A request for the next list shows that the one before was processed.
    let events = stream::poll_fn(move |context| {
        let next = asked.poll_recv(context);
        if next.is_pending() {
            tell.notify_one();
        }
        next
    });
    lists.send(pods::pods(objects, 1))?;
    let filled = kept(events.flat_map(listed).map(Ok)).await?;
    replaced.notified().await;
    let keys = keys(objects);
    let longest = |going: &Arc<AtomicBool>| {
        let (store, keys, going) = (filled.store.clone(), Arc::clone(&keys), Arc::clone(going));
        tokio::task::spawn_blocking(move || {
            longest_call(&going, |call| {
                black_box(store.get(&keys[call % keys.len()])).expect("every pod is there");
            })
        })
    };

    let (mut floors, mut pauses) = (Vec::new(), Vec::new());
    for version in 2..2 + size.tries() as u64 {
        let pods = pods::pods(objects, version);
        let going = switch(true);
        let floor = longest(&going);
        tokio::time::sleep(BASELINE_DURATION).await;
        going.store(false, Ordering::Relaxed);
        floors.push(floor.await?);

        let going = switch(true);
        let pause = longest(&going);
        lists.send(pods)?;
        replaced.notified().await;
        going.store(false, Ordering::Relaxed);
        pauses.push(pause.await?);
    }
    report.longest("longest get, no writer", &floors);
    report.longest("longest get, all objects replaced", &pauses);
    Ok(())
}
