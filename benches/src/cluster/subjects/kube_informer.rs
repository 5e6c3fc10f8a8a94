//! This project's informer.

use std::time::Duration;

use kube::Resource;
use kube_informer::{
    HandlerOptions, Key, Kind, Registration, SharedInformer, callbacks, client::default_client,
    source::WireFormat,
};

use super::{ObjectFormat, Wire};
use crate::Outcome;
use crate::clock::Stopwatch;
use crate::cluster::arrivals::Arrivals;
use crate::cluster::{ClusterSubject, Reads, STAMP};

/// Number of objects to read.
const READ: usize = 5_000;
/// Number of parts they are divided into.
const PARTS: usize = 21;
/// Number of passes. Many objects are read between two reads of the same one, so no read is cached.
const PASSES: usize = 10;
/// A label that all pods have.
const LABEL: &str = "app";

const PATIENCE: Duration = Duration::from_mins(5);

/// An informer with one handler.
#[derive(Debug)]
pub(super) struct Informer<K: Kind> {
    informer: SharedInformer<K>,
    handler: Registration,
}

impl<K: Kind + Resource<DynamicType = ()>> Informer<K> {
    pub(super) async fn new(arrivals: Arrivals, form: ObjectFormat, wire: Wire) -> Outcome<Informer<K>> {
        let form = match form {
            ObjectFormat::Typed | ObjectFormat::Projection => kube_informer::CacheFormat::Decoded,
            ObjectFormat::Packed | ObjectFormat::PackedProjection => kube_informer::CacheFormat::Packed,
        };
        let wire = match wire {
            Wire::Protobuf => WireFormat::Protobuf,
            Wire::Json => WireFormat::Json,
        };
        let builder = SharedInformer::builder(default_client().await?);
        let informer = builder.cache_format(form).wire_format(wire).build();
        let handler = callbacks::<K>().on_update(move |_, pod| {
            arrivals.received_with(pod.annotation(STAMP).as_deref());
        });
        // Like the peers' handlers, it records the time and returns.
        let options = HandlerOptions::new().never_blocks();
        let handler = informer.add_handler_with(handler, options)?;
        Ok(Informer { informer, handler })
    }
}

impl<K: Kind> ClusterSubject for Informer<K> {
    async fn sync(&mut self) -> Outcome {
        self.informer.start()?;
        self.informer.wait_for_sync(PATIENCE).await?;
        self.handler.wait_for_sync(PATIENCE).await?;
        Ok(())
    }

    fn objects(&self) -> usize {
        self.informer.snapshot().len()
    }

    fn lists(&self) -> u64 {
        let status = self.informer.status();
        status.lists + status.streaming_lists
    }

    fn reads(&self) -> Option<Reads> {
        let lister = self.informer.lister();
        let keys: Vec<Key> = self
            .informer
            .snapshot()
            .iter()
            .take(READ)
            .map(|object| object.key().clone())
            .collect();
        let labelled = each(&keys, |key| {
            let object = lister.get_key(key).ok()?;
            object.label(LABEL).map(|label| label.len())
        });
        let looked_at = each(&keys, |key| {
            let object = lister.get_key(key).ok()?;
            object.meta().name.as_ref().map(String::len)
        });
        Some(Reads {
            object: looked_at?,
            label: labelled,
        })
    }
}

/// Returns the duration of a read of one object, or none if there is nothing to read.
///
/// The result is the median of several parts, and of each part the average of the fastest pass: a shared CPU
/// is slower for a while, and a hyperthread is much slower while the server uses the other one.
fn each(keys: &[Key], read: impl Fn(&Key) -> Option<usize>) -> Option<Duration> {
    let parts: Vec<&[Key]> = keys.chunks(keys.len().div_ceil(PARTS).max(1)).collect();
    let mut averages = vec![None; parts.len()];
    for _ in 0..PASSES {
        for (part, quickest) in parts.iter().zip(&mut averages) {
            let average = average(part, &read);
            *quickest = quickest.iter().copied().chain(average).min();
        }
    }
    let mut averages: Vec<Duration> = averages.into_iter().flatten().collect();
    averages.sort_unstable();
    averages.get(averages.len() / 2).copied()
}

fn average(keys: &[Key], read: impl Fn(&Key) -> Option<usize>) -> Option<Duration> {
    let stopwatch = Stopwatch::start();
    let found = keys.iter().filter_map(read).filter(|length| *length > 0).count();
    let took = stopwatch.stop().processors;
    let found = u32::try_from(found).ok().filter(|found| *found > 0)?;
    Some(took / found)
}
