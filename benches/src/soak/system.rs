//! The system under test: informers of both formats, their handlers, a work queue and its workers.

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

/// Faults occur every few seconds for an hour. With the default backoff, the informers would wait most of the
/// time.
const SHORT_WAITS: Backoff = Backoff {
    initial: Duration::from_millis(50),
    factor: 2.0,
    cap: Duration::from_millis(400),
    jitter: 1.0,
    reset: Duration::from_secs(10),
};

/// All running parts. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct SystemUnderTest {
    typed: SharedInformer<ConfigMap>,
    packed: SharedInformer<ConfigMap>,
    queue: WorkQueue<Key>,
    shared: Arc<SystemState>,
}

#[derive(Debug, Default)]
struct SystemState {
    /// The last version of each object that a handler received.
    last_versions: Mutex<BTreeMap<Key, ResourceVersion>>,
    /// Objects that are leaked on purpose.
    leaked: Mutex<Vec<Object<ConfigMap>>>,
    events: AtomicU64,
    worked: AtomicU64,
    /// Makes a handler panic at the next event.
    panics: AtomicBool,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    stop: CancellationToken,
}

impl SystemUnderTest {
    pub(super) async fn open(server: &Server, leak: bool) -> Outcome<SystemUnderTest> {
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
        let system = SystemUnderTest {
            typed: informer(CacheFormat::Decoded),
            packed: informer(CacheFormat::Packed),
            queue: WorkQueue::new("soak"),
            shared: Arc::default(),
        };
        system.add_handlers(leak)?;
        for informer in system.informers() {
            informer.start()?;
        }
        for informer in system.informers() {
            informer.wait_for_sync(Duration::from_mins(1)).await?;
        }
        Ok(system)
    }

    fn informers(&self) -> [&SharedInformer<ConfigMap>; 2] {
        [&self.typed, &self.packed]
    }

    /// Adds handlers, a stream, a queue and workers.
    fn add_handlers(&self, leak: bool) -> Outcome {
        let shared = Arc::clone(&self.shared);
        self.typed
            .add_handler(move |event| shared.received(&event, leak))?;
        self.typed.add_handler(enqueue_keys(&self.queue))?;
        let shared = Arc::clone(&self.shared);
        self.packed.add_handler(move |_: Event<ConfigMap>| {
            assert!(
                !shared.panics.swap(false, Ordering::Relaxed),
                "a handler panics on purpose"
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
                    // Some attempts fail, and are retried.
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

    /// Adds handlers, and removes them after a while.
    pub(super) async fn join_and_leave(&self, milliseconds: u64) {
        let joined = self
            .informers()
            .map(|informer| informer.add_handler(|_: Event<ConfigMap>| {}));
        sleep(Duration::from_millis(milliseconds)).await;
        for registration in joined.into_iter().flatten() {
            registration.remove();
        }
    }

    pub(super) fn panic_at_next_event(&self) {
        self.shared.panics.store(true, Ordering::Relaxed);
    }

    /// Returns the number of pending changes and items.
    pub(super) fn waiting(&self) -> usize {
        let informers = self.informers().map(|informer| {
            let status = informer.status();
            let backlogs = status.handlers.iter().map(kube_informer::Registration::backlog);
            status.queued + backlogs.sum::<usize>()
        });
        informers.iter().sum::<usize>() + self.queue.len() + self.queue.delayed()
    }

    pub(super) fn summary(&self) -> String {
        let (typed, packed) = (self.typed.status(), self.packed.status());
        format!(
            "{} events, {} items processed, {} watches, {} lists, {} errors, {} consistency checks",
            self.shared.events.load(Ordering::Relaxed),
            self.shared.worked.load(Ordering::Relaxed),
            typed.watches + packed.watches,
            typed.lists + packed.lists + typed.streaming_lists + packed.streaming_lists,
            typed.errors + packed.errors,
            typed.checks + packed.checks,
        )
    }

    /// Checks that both caches, and the handler's last versions, equal the server's state.
    pub(super) async fn compare_with(
        &self,
        server: &Server,
        changes: &Changes,
        timeout: Duration,
    ) -> Outcome {
        let version = server.resource_version();
        let listed = changes.api().list(&ListParams::default()).await?;
        let expected: BTreeMap<Key, ResourceVersion> = listed.items.iter().filter_map(known).collect();
        for (informer, form) in self.informers().into_iter().zip(["typed", "packed"]) {
            informer.wait_for_version(version, timeout).await?;
            let cached = informer.snapshot();
            let cached: BTreeMap<Key, ResourceVersion> = cached
                .iter()
                .map(|object| (object.key().clone(), object.version().clone()))
                .collect();
            same(&cached, &expected, &format!("the {form} cache"))?;
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
        // The last event leaves the backlog before it is handled.
        let received = || self.shared.last_versions().clone();
        let began = tokio::time::Instant::now();
        while received() != expected && began.elapsed() < timeout {
            tokio::task::yield_now().await;
        }
        same(&received(), &expected, "the handler's last versions")
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

impl SystemState {
    fn received(&self, event: &Event<ConfigMap>, leak: bool) {
        self.events.fetch_add(1, Ordering::Relaxed);
        let mut last_versions = self.last_versions();
        match event {
            Event::Added { object, .. } | Event::Updated { new: object, .. } => {
                last_versions.insert(object.key().clone(), object.version().clone());
                if leak {
                    let mut leaked = self.leaked.lock();
                    leaked.push(object.clone());
                }
            }
            Event::Deleted(gone) => drop(last_versions.remove(gone.key())),
        }
    }

    fn last_versions(&self) -> parking_lot::MutexGuard<'_, BTreeMap<Key, ResourceVersion>> {
        self.last_versions.lock()
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
    expected: &BTreeMap<Key, ResourceVersion>,
    what: &str,
) -> Outcome {
    if here == expected {
        return Ok(());
    }
    let differs = |key: &&Key| here.get(*key) != expected.get(*key);
    let keys: Vec<String> = expected
        .keys()
        .chain(here.keys())
        .filter(differs)
        .take(5)
        .map(Key::to_string)
        .collect();
    Err(format!(
        "{what} differs from the server, {} of {} objects: {}",
        here.len(),
        expected.len(),
        keys.join(", ")
    )
    .into())
}
