//! Compresses what is at rest, beside everything else.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::PackedObject;
use super::compress::{Compressor, Dictionary, MIN_SAMPLES};
use super::packing::{PackingContext, TrainedDictionary};
use crate::object::{Kind, WatchedResource};

/// How long a list is left alone: whoever waited for it comes first.
const PAUSE_AFTER_LIST: Duration = Duration::from_secs(1);

/// How often to come by. An object that was changed since the last time is left until the next: what changes often would
/// be compressed in vain.
const COMPRESSION_INTERVAL: Duration = Duration::from_secs(30);

/// A dictionary is trained anew when there are this many times more objects than those that it was made from...
const RETRAIN_GROWTH: usize = 8;

/// ...or when what it compresses is this many percent of what it was at first.
const RETRAIN_PERCENT: usize = 150;

/// How many objects have to be compressed until it is known how well that goes.
const MIN_MEASURED: usize = 256;

/// The task that compresses.
pub(crate) struct Compactor<K> {
    pub(crate) packing: Arc<PackingContext<K>>,
    pub(crate) resource: WatchedResource,
    /// Returns the number of objects in the cache, and those of them that are packed.
    pub(crate) objects: Box<dyn Fn() -> (usize, PackedObjects<K>) + Send + Sync>,
}

/// An iterator over packed objects.
pub(crate) type PackedObjects<K> = Box<dyn Iterator<Item = Arc<PackedObject<K>>>>;

impl<K: Kind> Compactor<K> {
    /// Comes by again and again until it is told to stop.
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
                this.packing.forget_recent();
            }
            if this.packing.waiting() == 0 {
                continue;
            }
            let (here, stopped) = (Arc::clone(&this), stop.clone());
            // It ends early only with the runtime, or by a bug that it is better to lose compression for than the cache.
            let round = tokio::task::spawn_blocking(move || here.round(listed, &stopped));
            if let Err(failed) = round.await {
                tracing::error!(resource = %this.resource, %failed, "objects stay uncompressed");
                return;
            }
        }
    }

    /// Goes through the cache once.
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
            self.note(100 * after / before.max(1));
        }
    }

    /// The dictionary to use, if there is one; and whether it was made now, because there was none good enough.
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

    /// Notes how well the dictionary does; one that does much worse than at first is given up.
    pub(super) fn note(&self, percent: usize) {
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
