//! What is watched: informers of both forms, their handlers, a work queue and its workers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::ListParams;
use kube_embedded::Server;
use kube_informer::{
    Backoff, CacheFormat, Event, Key, Object, ResourceVersion, SharedInformer, client::watching_client,
    enqueue_keys,
};
use kube_workqueue::{WorkQueue, workers};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::changes::{Changes, NAMESPACE};
use crate::Outcome;

/// There is a fault every few seconds, for an hour: as it is, most of the time would be waited.
const SHORT_WAITS: Backoff = Backoff {
    initial: Duration::from_millis(50),
    factor: 2.0,
    cap: Duration::from_millis(400),
    jitter: 1.0,
    reset: Duration::from_secs(10),
};

/// Everything that runs. Clones are one.
#[derive(Debug, Clone)]
pub(super) struct House {
    typed: SharedInformer<ConfigMap>,
    packed: SharedInformer<ConfigMap>,
    queue: WorkQueue<Key>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The last word that a handler heard of each object.
    last_words: Mutex<BTreeMap<Key, ResourceVersion>>,
    /// What is kept of events though nobody needs it.
    leaked: Mutex<Vec<Object<ConfigMap>>>,
    events: AtomicU64,
    worked: AtomicU64,
    /// The next event makes a handler panic.
    stumbles: AtomicBool,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    stop: CancellationToken,
}

impl House {
    pub(super) async fn open(server: &Server, leak: bool) -> Outcome<House> {
        let client = watching_client(server.client_config())?;
        let informer = |form| {
            SharedInformer::<ConfigMap>::builder(client.clone())
                .namespace(NAMESPACE)
                .cache_format(form)
                .page_size(200)
                .backoff(SHORT_WAITS)
                .resync(Duration::from_secs(20))
                .check_consistency(Duration::from_mins(1))
                .index("colour", |map: &ConfigMap| map.labels().get("colour").cloned())
                .watch_error_handler(|_| {})
                .build()
        };
        let house = House {
            typed: informer(CacheFormat::Decoded),
            packed: informer(CacheFormat::Packed),
            queue: WorkQueue::new("soak"),
            shared: Arc::default(),
        };
        house.furnish(leak)?;
        for informer in house.informers() {
            informer.start()?;
        }
        for informer in house.informers() {
            informer.wait_for_sync(Duration::from_mins(1)).await?;
        }
        Ok(house)
    }

    fn informers(&self) -> [&SharedInformer<ConfigMap>; 2] {
        [&self.typed, &self.packed]
    }

    /// Handlers, a stream, a queue and workers.
    fn furnish(&self, leak: bool) -> Outcome {
        let shared = Arc::clone(&self.shared);
        self.typed.add_handler(move |event| shared.heard(&event, leak))?;
        self.typed.add_handler(enqueue_keys(&self.queue))?;
        let shared = Arc::clone(&self.shared);
        self.packed.add_handler(move |_: Event<ConfigMap>| {
            assert!(
                !shared.stumbles.swap(false, Ordering::Relaxed),
                "a handler stumbles on purpose"
            );
        })?;
        let events = self.packed.events()?;
        let streaming = tokio::spawn(events.for_each(|_| std::future::ready(())));

        let (lister, shared) = (self.typed.lister(), Arc::clone(&self.shared));
        let working = workers(self.queue.clone(), 4, move |key| {
            let found = lister.namespace(NAMESPACE).get(key.name());
            let count = shared.worked.fetch_add(1, Ordering::Relaxed);
            async move {
                match found {
                    // Now and then work fails, and comes back later.
                    Ok(_) if count % 500 == 0 => Err("not now"),
                    _ => Ok(()),
                }
            }
        });
        let stop = self.shared.stop.clone();
        let working = tokio::spawn(async move { drop(working.run(stop).await) });
        self.shared.tasks().extend([streaming, working]);
        Ok(())
    }

    /// A handler comes, sees everything, and leaves after a while.
    pub(super) async fn visit(&self, milliseconds: u64) {
        let joined = self
            .informers()
            .map(|informer| informer.add_handler(|_: Event<ConfigMap>| {}));
        sleep(Duration::from_millis(milliseconds)).await;
        for registration in joined.into_iter().flatten() {
            registration.remove();
        }
    }

    pub(super) fn stumble(&self) {
        self.shared.stumbles.store(true, Ordering::Relaxed);
    }

    /// What waits somewhere.
    pub(super) fn waiting(&self) -> usize {
        let informers = self.informers().map(|informer| {
            let status = informer.status();
            let backlogs = status.handlers.iter().map(kube_informer::Registration::backlog);
            status.queued + backlogs.sum::<usize>()
        });
        informers.iter().sum::<usize>() + self.queue.len() + self.queue.delayed()
    }

    pub(super) fn told(&self) -> String {
        let (typed, packed) = (self.typed.status(), self.packed.status());
        format!(
            "{} events, {} items worked on, {} watches, {} lists, {} errors, {} consistency checks",
            self.shared.events.load(Ordering::Relaxed),
            self.shared.worked.load(Ordering::Relaxed),
            typed.watches + packed.watches,
            typed.lists + packed.lists + typed.streaming_lists + packed.streaming_lists,
            typed.errors + packed.errors,
            typed.checks + packed.checks,
        )
    }

    /// Both caches, and what a handler has heard, are what the server has.
    pub(super) async fn compare_with(
        &self,
        server: &Server,
        changes: &Changes,
        patience: Duration,
    ) -> Outcome {
        let version = server.resource_version();
        let listed = changes.api().list(&ListParams::default()).await?;
        let there: BTreeMap<Key, ResourceVersion> = listed.items.iter().filter_map(known).collect();
        for (informer, form) in self.informers().into_iter().zip(["typed", "packed"]) {
            informer.wait_for_version(version, patience).await?;
            let cached = informer.snapshot();
            let cached: BTreeMap<Key, ResourceVersion> = cached
                .iter()
                .map(|object| (object.key().clone(), object.version().clone()))
                .collect();
            same(&cached, &there, &format!("the {form} cache"))?;
            let found = informer.check_consistency().await?;
            if !found.is_consistent() {
                return Err(format!("the {form} cache: {found}").into());
            }
        }
        while self
            .typed
            .registrations()
            .iter()
            .any(|handler| handler.backlog() > 0)
        {
            tokio::task::yield_now().await;
        }
        // The last event is handed over before it is handled.
        let heard = || self.shared.last_words().clone();
        let began = tokio::time::Instant::now();
        while heard() != there && began.elapsed() < patience {
            tokio::task::yield_now().await;
        }
        same(&heard(), &there, "what a handler has heard")
    }

    /// Stops everything and waits for its end.
    pub(super) async fn close(self) -> Outcome {
        for informer in self.informers() {
            informer.shutdown().await;
        }
        self.shared.stop.cancel();
        let tasks: Vec<_> = self.shared.tasks().drain(..).collect();
        for task in tasks {
            task.await?;
        }
        Ok(())
    }
}

impl Shared {
    fn heard(&self, event: &Event<ConfigMap>, leak: bool) {
        self.events.fetch_add(1, Ordering::Relaxed);
        let mut last_words = self.last_words();
        match event {
            Event::Added { object, .. } | Event::Updated { new: object, .. } => {
                last_words.insert(object.key().clone(), object.version().clone());
                if leak {
                    let mut leaked = self.leaked.lock();
                    leaked.push(object.clone());
                }
            }
            Event::Deleted(gone) => drop(last_words.remove(gone.key())),
        }
    }

    fn last_words(&self) -> parking_lot::MutexGuard<'_, BTreeMap<Key, ResourceVersion>> {
        self.last_words.lock()
    }

    fn tasks(&self) -> parking_lot::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.tasks.lock()
    }
}

fn known(map: &ConfigMap) -> Option<(Key, ResourceVersion)> {
    let key = Key::new(map.metadata.namespace.as_deref(), map.metadata.name.as_deref()?);
    Some((
        key,
        ResourceVersion::from(map.metadata.resource_version.as_deref()?),
    ))
}

fn same(
    here: &BTreeMap<Key, ResourceVersion>,
    there: &BTreeMap<Key, ResourceVersion>,
    what: &str,
) -> Outcome {
    if here == there {
        return Ok(());
    }
    let differs = |key: &&Key| here.get(*key) != there.get(*key);
    let keys: Vec<String> = there
        .keys()
        .chain(here.keys())
        .filter(differs)
        .take(5)
        .map(Key::to_string)
        .collect();
    Err(format!(
        "{what} is not what the server has, {} of {} objects: {}",
        here.len(),
        there.len(),
        keys.join(", ")
    )
    .into())
}
