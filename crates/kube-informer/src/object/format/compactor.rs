//! Compresses objects in the background.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::PackedObject;
use super::compress::{Compressor, Dictionary, MIN_SAMPLES};
use super::packing::{PackingContext, TrainedDictionary};
use crate::object::{Kind, WatchedResource};

/// Delay after a list, so that the readers waiting for it have precedence.
const PAUSE_AFTER_LIST: Duration = Duration::from_secs(1);

/// Time between rounds. Objects that have changed since the previous round are compressed in a later one, because
/// compressing objects that change often is useless.
const COMPRESSION_INTERVAL: Duration = Duration::from_secs(30);

/// A new dictionary is trained when there are this many times more objects than at the last training...
const RETRAIN_GROWTH: usize = 8;

/// ...or when the compression ratio is this percentage of the first one.
const RETRAIN_PERCENT: usize = 150;

/// Minimum number of objects in a round to measure the compression ratio.
const MIN_MEASURED: usize = 256;

/// The task that compresses objects.
pub(crate) struct Compactor<K> {
    pub(crate) packing: Arc<PackingContext<K>>,
    pub(crate) resource: WatchedResource,
    /// Returns the number of objects in the cache, and the packed ones.
    pub(crate) objects: Box<dyn Fn() -> (usize, PackedObjects<K>) + Send + Sync>,
}

/// An iterator over packed objects.
pub(crate) type PackedObjects<K> = Box<dyn Iterator<Item = Arc<PackedObject<K>>>>;

impl<K: Kind> Compactor<K> {
    /// Performs rounds of compression until it is stopped.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let this = Arc::new(self);
        loop {
            let listed = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = this.packing.listed.notified() => true,
                () = tokio::time::sleep(COMPRESSION_INTERVAL) => false,
            };
            if listed
                && stop
                    .run_until_cancelled(tokio::time::sleep(PAUSE_AFTER_LIST))
                    .await
                    .is_none()
            {
                return;
            }
            if !listed {
                this.packing.clear_recent();
            }
            if this.packing.waiting() == 0 {
                continue;
            }
            let (compactor, stopped) = (Arc::clone(&this), stop.clone());
            // A panic is a bug. Losing compression is better than losing the cache.
            let round = tokio::task::spawn_blocking(move || compactor.round(listed, &stopped));
            if let Err(failed) = round.await {
                tracing::error!(resource = %this.resource, %failed, "cannot compress objects");
                return;
            }
        }
    }

    /// Performs one round of compression.
    pub(super) fn round(&self, all: bool, stop: &CancellationToken) {
        let (trained, is_new) = self.dictionary();
        let all = all || is_new;
        let dictionary = trained.as_ref().map(|trained| &trained.dictionary);
        let Some(mut compressor) = Compressor::new(dictionary.map(AsRef::as_ref)) else {
            return;
        };
        let (mut objects, mut before, mut after) = (0, 0, 0);
        for packed in (self.objects)().1 {
            if stop.is_cancelled() {
                return;
            }
            if let Some(plain) = packed.to_compress(all, dictionary) {
                objects += 1;
                before += plain.len();
                after += packed.compress(&plain, &mut compressor, dictionary);
            }
        }
        if objects >= MIN_MEASURED {
            self.record_ratio(100 * after / before.max(1));
        }
    }

    /// Returns the dictionary to use, and whether it was trained by this call.
    fn dictionary(&self) -> (Option<TrainedDictionary>, bool) {
        let (objects, _) = (self.objects)();
        let current = self.packing.dictionary.lock().clone();
        if objects < MIN_SAMPLES
            || current
                .as_ref()
                .is_some_and(|trained| objects < RETRAIN_GROWTH * trained.objects)
        {
            return (current, false);
        }
        let Some(dictionary) = Dictionary::train(objects, || (self.objects)().1, |packed| packed.whole())
        else {
            return (current, false);
        };
        let trained = TrainedDictionary {
            dictionary,
            objects,
            percent: None,
        };
        *self.packing.dictionary.lock() = Some(trained.clone());
        (Some(trained), true)
    }

    /// Records the compression ratio, and removes the dictionary if the ratio is much worse than at first.
    pub(super) fn record_ratio(&self, percent: usize) {
        let mut current = self.packing.dictionary.lock();
        let Some(trained) = &mut *current else {
            return;
        };
        match trained.percent {
            None => trained.percent = Some(percent.max(self.packing.retrained_at.load(Ordering::Relaxed))),
            Some(first) if percent * 100 > first.max(1) * RETRAIN_PERCENT => {
                self.packing.retrained_at.store(percent, Ordering::Relaxed);
                *current = None;
            }
            Some(_) => {}
        }
    }
}
