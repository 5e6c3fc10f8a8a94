use std::cell::Cell;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use futures::{FutureExt, StreamExt, poll};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, advance, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{Controller, ResyncChecks};
use crate::handler::{Event, HandlerOptions};
use crate::measures::Measurements;
use crate::object::{Entry, ResourceVersion};
use crate::pipeline::processor::Processor;
use crate::pipeline::queue::{self, DeltaReceiver};
use crate::pipeline::reflector::{Delta, Replacement, Scope};
use crate::pipeline::store::tests::retired::{Probe, probes};
use crate::pipeline::store::tests::{TestStore, entry, key, tagged};
use crate::pipeline::store::{Seed, Store};

const SECOND: Duration = Duration::from_secs(1);

struct ControllerTest {
    queue: Sender<Delta<ConfigMap>>,
    processor: Arc<Processor<ConfigMap>>,
    store: Arc<Store<ConfigMap>>,
    seed: Seed,
    synced: CancellationToken,
}

/// Creates a controller that is not running yet, between a queue and a processor.
fn controller_test(resync: Duration) -> (ControllerTest, Controller<ConfigMap>, DeltaReceiver<ConfigMap>) {
    let (queue, deltas) = queue::channel();
    let seed = Seed::new(1);
    let cache = TestStore::new(seed);
    let test = ControllerTest {
        queue,
        processor: Processor::new(Arc::clone(&cache.store), resync),
        synced: CancellationToken::new(),
        store: cache.store,
        seed,
    };
    test.processor.start(tokio::runtime::Handle::current());
    let controller = Controller {
        writer: Arc::new(Mutex::new(cache.writer)),
        processor: Arc::clone(&test.processor),
        synced: test.synced.clone(),
        packing: None,
        measures: Arc::new(Measurements::new(1)),
    };
    (test, controller, deltas)
}

impl ControllerTest {
    fn entry(&self, name: &str, version: u64) -> Arc<Entry<ConfigMap>> {
        entry(tagged(&key(name), version, 1, &[]), self.seed)
    }

    async fn push(&self, delta: Delta<ConfigMap>) {
        self.queue.send(delta).await.unwrap();
    }

    async fn list(&self, names: &[&str], version: u64) {
        let mut objects: Vec<_> = names.iter().map(|name| self.entry(name, 1)).collect();
        objects.sort_by_key(|entry| entry.hash());
        let version = ResourceVersion::from(version);
        self.push(Delta::Replaced(Replacement {
            objects,
            version,
            scope: Scope::ONLY,
            trusts_versions: true,
        }))
        .await;
    }
}

/// Reads the store's version when a stream of events is notified.
struct AtNotification {
    store: Arc<Store<ConfigMap>>,
    versions: Mutex<Vec<Option<ResourceVersion>>>,
}

impl Wake for AtNotification {
    fn wake(self: Arc<Self>) {
        self.versions.lock().push(self.store.version());
    }
}

/// Handlers run later than they are notified, so a test inside a handler would not detect a notification
/// before the write.
#[tokio::test]
async fn contract_4_the_store_is_written_before_handlers_are_notified() {
    let (test, controller, deltas) = controller_test(Duration::ZERO);
    let mut events = test
        .processor
        .stream(HandlerOptions::new().every_event())
        .unwrap();
    let observed = Arc::new(AtNotification {
        store: Arc::clone(&test.store),
        versions: Mutex::default(),
    });
    let waker = Waker::from(Arc::clone(&observed));
    let mut running = pin!(controller.run(deltas, |error| panic!("{error}")));
    test.list(&["a"], 1).await;
    for version in 2..20 {
        assert!(poll!(&mut running).is_pending());
        // Takes the previous events and registers the waker for the next one.
        let mut context = Context::from_waker(&waker);
        while events.poll_next_unpin(&mut context).is_ready() {}
        let delta = match version % 3 {
            0 => Delta::Deleted(test.entry("b", version)),
            _ => Delta::Upsert(test.entry("b", version)),
        };
        test.push(delta).await;
        observed.versions.lock().clear();
        assert!(poll!(&mut running).is_pending());
        assert_eq!(*observed.versions.lock(), [Some(ResourceVersion::from(version))]);
    }
}

/// Pending changes are published in one step.
#[tokio::test]
async fn one_batch_is_one_snapshot() {
    let (test, controller, deltas) = controller_test(Duration::ZERO);
    let mut events = test
        .processor
        .stream(HandlerOptions::new().every_event())
        .unwrap();
    test.list(&["a"], 1).await;
    for version in 2..50 {
        test.push(Delta::Upsert(test.entry("b", version))).await;
        test.push(Delta::Deleted(test.entry("b", version + 100))).await;
    }
    test.push(Delta::Bookmark(ResourceVersion::from(900), Scope::ONLY))
        .await;
    assert!(!test.synced.is_cancelled());
    let running = tokio::spawn(controller.run(deltas, |error| panic!("{error}")));
    test.synced.cancelled().await;
    drop(test.queue);
    running.await.unwrap();
    assert_eq!(test.store.version(), Some(ResourceVersion::from(900)));
    let first = events.next().await.unwrap();
    assert!(matches!(
        first,
        Event::Added {
            is_in_initial_list: true,
            ..
        }
    ));
    assert!(
        events.next().now_or_never().is_none(),
        "an object that was added and deleted in one batch is not delivered"
    );
}

#[tokio::test]
async fn deltas_queued_before_the_close_are_handled() {
    let (test, controller, deltas) = controller_test(Duration::ZERO);
    test.list(&["a"], 1).await;
    for version in 2..500 {
        test.push(Delta::Upsert(test.entry("b", version))).await;
    }
    drop(test.queue);
    controller.run(deltas, |error| panic!("{error}")).await;
    assert_eq!(test.store.version(), Some(ResourceVersion::from(499)));
    assert_eq!(test.store.snapshot().len(), 2);
}

/// Freeing an old cache may take long. Handlers can join in the meantime.
#[tokio::test]
async fn freeing_an_old_cache_delays_no_handler() {
    let seed = Seed::new(1);
    let cache = TestStore::<Probe>::new(seed);
    let processor = Processor::new(Arc::clone(&cache.store), Duration::ZERO);
    let freed = Arc::new(AtomicUsize::new(0));
    let (gate, count) = (Arc::downgrade(&processor), Arc::clone(&freed));
    let note: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
        if let Some(processor) = gate.upgrade() {
            assert!(processor.is_open());
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let controller = Controller {
        writer: Arc::new(Mutex::new(cache.writer)),
        processor,
        synced: CancellationToken::new(),
        packing: None,
        measures: Arc::new(Measurements::new(1)),
    };
    let list = |version: u64| {
        let probes = probes(version, &note).into_iter();
        let mut objects: Vec<_> = probes.map(|probe| entry(probe, seed)).collect();
        objects.sort_by_key(|entry| entry.hash());
        let version = ResourceVersion::from(version);
        vec![Delta::Replaced(Replacement {
            objects,
            version,
            scope: Scope::ONLY,
            trusts_versions: true,
        })]
    };
    controller.handle(list(1));
    let held = cache.store.snapshot();
    controller.handle(list(2));
    drop(held);
    assert_eq!(freed.load(Ordering::Relaxed), 0, "the writer still holds it");
    controller.handle(vec![Delta::Bookmark(ResourceVersion::from(3), Scope::ONLY)]);
    assert_eq!(freed.load(Ordering::Relaxed), 100);
}

/// A watch event does not sync an informer.
#[tokio::test]
async fn contract_8_only_a_list_syncs() {
    let (test, controller, deltas) = controller_test(Duration::ZERO);
    test.push(Delta::Upsert(test.entry("b", 1))).await;
    test.push(Delta::Bookmark(ResourceVersion::from(2), Scope::ONLY))
        .await;
    drop(test.queue);
    controller.run(deltas, |error| panic!("{error}")).await;
    assert!(!test.synced.is_cancelled());
}

/// Real clocks wake late by different amounts. A late check must not make the next one too early for a
/// handler with the same period, which would then be skipped every other time.
#[tokio::test(start_paused = true)]
async fn a_late_resync_check_does_not_skip_the_next_resync() {
    let (test, controller, deltas) = controller_test(10 * SECOND);
    let mut events = test.processor.stream(HandlerOptions::new()).unwrap();
    test.list(&["a"], 1).await;
    let start = Instant::now();
    tokio::spawn(controller.run(deltas, |error| panic!("{error}")));
    assert!(!events.next().await.unwrap().is_resync());
    assert!(events.next().now_or_never().is_none());

    advance(10 * SECOND + Duration::from_millis(4)).await;
    assert!(events.next().await.unwrap().is_resync());
    for _ in 0..5 {
        let before = Instant::now();
        assert!(events.next().await.unwrap().is_resync());
        assert!(before.elapsed() <= 10 * SECOND, "after {:?}", before.elapsed());
    }
    assert!(start.elapsed() < 61 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_wait_for_a_check_does_not_delay_the_check() {
    let mut checks = ResyncChecks::new(10 * SECOND);
    let start = Instant::now();
    for tick in 1..4 {
        tokio::select! {
            _ = checks.next() => panic!("too early"),
            () = sleep_until(start + tick * SECOND) => {}
        }
    }
    assert_eq!(checks.next().await - start, 10 * SECOND);
    assert_eq!(checks.next().await - start, 20 * SECOND);
    let mut never = ResyncChecks::new(Duration::ZERO);
    assert!(never.next().now_or_never().is_none());
}

/// A due resync is delivered even if the queue is never empty: here every batch adds another one.
#[tokio::test(start_paused = true)]
async fn a_busy_queue_does_not_delay_resyncs() {
    let (test, controller, deltas) = controller_test(10 * SECOND);
    let failing = Arc::new(|_: &ConfigMap| Err::<Vec<u8>, _>("so that each batch has an error".to_owned()));
    controller
        .writer
        .lock()
        .add_index("failing".into(), failing)
        .unwrap();
    let events = Mutex::new(test.processor.stream(HandlerOptions::new()).unwrap());
    test.list(&["a"], 1).await;
    let (batches, resynced_in) = (Cell::new(0), Cell::new(None));
    let mut running = Box::pin(controller.run(deltas, |_| {
        batches.set(batches.get() + 1);
        while let Some(Some(event)) = events.lock().next().now_or_never() {
            if event.is_resync() {
                resynced_in.set(Some(batches.get()));
            }
        }
        if batches.get() > 1 && batches.get() < 100 {
            let more = Delta::Upsert(test.entry("b", 10 + batches.get()));
            test.queue.try_send(more).expect("there is room");
        }
    }));
    assert!(running.as_mut().now_or_never().is_none());
    advance(11 * SECOND).await;
    test.push(Delta::Upsert(test.entry("b", 10))).await;
    // The queue makes the controller yield now and then.
    for _ in 0..10 {
        assert!(poll!(&mut running).is_pending());
        tokio::task::yield_now().await;
    }
    assert_eq!(batches.get(), 100);
    assert_eq!(resynced_in.get(), Some(2), "of 100 batches");
}
