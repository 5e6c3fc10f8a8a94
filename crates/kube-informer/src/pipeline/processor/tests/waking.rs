//! Tests of wake-ups, with the writer and a listener on two threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::mpsc::unbounded_channel;

use crate::pipeline::processor::{Batch, HandlerOptions, Processor};
use crate::pipeline::store::Seed;
use crate::pipeline::store::tests::{TestStore, key, tagged};

struct ListenerTest {
    cache: TestStore<ConfigMap>,
    processor: Arc<Processor<ConfigMap>>,
    version: u64,
}

impl ListenerTest {
    fn new() -> ListenerTest {
        let mut cache = TestStore::new(Seed::new(1));
        let processor = Processor::new(Arc::clone(&cache.store), Duration::ZERO);
        let changes = cache.replace(Vec::new(), 1);
        let batch = Batch {
            changes,
            listed: true,
        };
        let notification = processor.prepare();
        drop(cache.publish());
        notification.send(&batch, true);
        processor.start(tokio::runtime::Handle::current());
        ListenerTest {
            cache,
            processor,
            version: 1,
        }
    }

    fn change(&mut self) {
        self.version += 1;
        let changes = self.cache.upsert(tagged(&key("a/n"), self.version, 1, &[]));
        let batch = Batch {
            changes,
            listed: false,
        };
        let notification = self.processor.prepare();
        drop(self.cache.publish());
        notification.send(&batch, true);
    }
}

/// Each change is pushed just after the previous one was taken, when the listener is about to sleep. A lost
/// wake-up blocks this test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_arrives_as_the_listener_falls_asleep_wakes_it() {
    let mut test = ListenerTest::new();
    let mut events = test.processor.stream(HandlerOptions::new()).unwrap();
    let (taken, mut was_taken) = unbounded_channel();
    let taker = tokio::spawn(async move {
        while let Some(event) = events.next().await {
            taken.send(event.object().version().clone()).unwrap();
        }
    });
    for _ in 0..5_000 {
        test.change();
        assert_eq!(
            was_taken.recv().await.unwrap().to_string(),
            test.version.to_string()
        );
    }
    test.processor.close();
    taker.await.unwrap();
}

/// Wake-ups of each kind of handler.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_of_each_kind_are_woken() {
    let mut test = ListenerTest::new();
    let (taken, mut was_taken) = unbounded_channel();
    let [blocking, inline, asynchronous] = [(); 3].map(|()| taken.clone());
    let options = HandlerOptions::new;
    test.processor
        .add(move |_| assert!(blocking.send(()).is_ok()), options())
        .unwrap();
    test.processor
        .add(
            move |_| assert!(inline.send(()).is_ok()),
            options().never_blocks(),
        )
        .unwrap();
    let handler = move |_| {
        assert!(asynchronous.send(()).is_ok());
        std::future::ready(())
    };
    test.processor.add_async(handler, options()).unwrap();
    for _ in 0..1_000 {
        test.change();
        for _ in 0..3 {
            was_taken.recv().await.unwrap();
        }
    }
    test.processor.stop().await;
}

/// The mailbox is closed before, while and after the listener falls asleep, with and without a pending event.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_that_arrives_as_the_listener_falls_asleep_wakes_it() {
    for round in 0..1_000 {
        let mut test = ListenerTest::new();
        let mut events = test.processor.stream(HandlerOptions::new()).unwrap();
        let registration = events.registration();
        let taker = tokio::spawn(async move {
            let mut taken = 0;
            while events.next().await.is_some() {
                taken += 1;
            }
            taken
        });
        if round % 3 == 0 {
            tokio::task::yield_now().await;
        }
        let has_event = round % 2 == 0;
        if has_event {
            test.change();
        }
        if round % 5 == 0 {
            registration.remove();
            assert!(taker.await.unwrap() <= 1);
        } else {
            test.processor.close();
            assert_eq!(
                taker.await.unwrap(),
                u32::from(has_event),
                "events pushed before the end are delivered"
            );
        }
    }
}

/// Sets a flag when it is dropped.
struct DropFlag(Arc<AtomicBool>);

impl Drop for DropFlag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn contract_11_a_stop_before_the_first_list_waits_until_the_handler_is_dropped() {
    let cache = TestStore::<ConfigMap>::new(Seed::new(1));
    let processor = Processor::new(Arc::clone(&cache.store), Duration::ZERO);
    processor.start(tokio::runtime::Handle::current());
    let dropped = Arc::new(AtomicBool::new(false));
    let flag = DropFlag(Arc::clone(&dropped));
    let handler = move |_| {
        let _owned = &flag;
    };
    processor
        .add(handler, HandlerOptions::new().never_blocks())
        .unwrap();
    processor.stop().await;
    assert!(dropped.load(Ordering::Relaxed));
}

#[tokio::test]
async fn a_stream_that_is_not_drained_yet_can_still_sync_after_a_close() {
    let mut test = ListenerTest::new();
    test.change();
    let mut events = test.processor.stream(HandlerOptions::new()).unwrap();
    let registration = events.registration();
    test.processor.close();
    assert!(registration.synced().now_or_never().is_none());
    assert!(events.next().await.is_some());
    assert!(events.next().await.is_none());
    registration.synced().await.unwrap();
}
