//! The work queue and workers: deduplication, delay, rate limits, priority, metrics.
//!
//! The queue itself is tested in `kube-workqueue`; here informers fill it with the changes of a cluster.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube_informer::metrics::Metrics;
use kube_informer::metrics::prometheus_client::encoding::text;
use kube_informer::metrics::prometheus_client::registry::Registry;
use kube_informer::prelude::*;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, pause, resume};

use crate::config_maps::ConfigMaps;
use crate::informers::{caught_up, soon, started, stopped};

/// Returns the queued keys in order, with their priorities.
fn taken(queue: &WorkQueue<Key>) -> Vec<(String, i32)> {
    let mut taken = Vec::new();
    while let Some(item) = queue.try_get() {
        taken.push((item.name().to_owned(), item.priority()));
    }
    taken
}

#[tokio::test]
async fn many_changes_of_an_object_are_one_item() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    let informer = maps.informer();
    let queue = WorkQueue::new("maps");
    let enqueued = informer.add_handler(enqueue_keys(&queue)).expect("a handler");
    started(&informer).await;
    soon(enqueued.synced()).await.expect("a sync");
    for value in ["2", "3", "4"] {
        maps.change("a", value).await;
    }
    maps.delete("b").await;
    let version = maps.create("c", "1").await;
    caught_up(&informer, version).await;
    // A stopped informer has delivered everything in its cache.
    stopped(&informer).await;
    assert_eq!(queue.len(), 3);
    let names: BTreeSet<String> = taken(&queue).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b", "c"].map(String::from).into());
}

#[tokio::test]
async fn initial_objects_have_low_priority() {
    let maps = ConfigMaps::named(["a", "b", "c"]).await;
    let informer = maps.informer();
    let queue = WorkQueue::new("maps");
    let enqueued = informer.add_handler(enqueue_keys(&queue)).expect("a handler");
    started(&informer).await;
    soon(enqueued.synced()).await.expect("a sync");
    maps.create("new", "1").await;
    let version = maps.change("b", "2").await;
    caught_up(&informer, version).await;
    // A stopped informer has delivered everything in its cache: the change of b has raised its priority.
    stopped(&informer).await;
    let raised = taken(&queue);
    assert_eq!(raised.len(), 4);
    let (news, rest) = raised.split_at(2);
    let names = |items: &[(String, i32)]| {
        items
            .iter()
            .map(|(name, _)| name.clone())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(names(news), ["b", "new"].map(String::from).into());
    assert_eq!(names(rest), ["a", "c"].map(String::from).into());
    assert!(news.iter().all(|(_, priority)| *priority == 0));
    assert!(rest.iter().all(|(_, priority)| *priority == -100));
}

#[tokio::test]
async fn old_and_new_owners_and_mapped_items_are_enqueued() {
    let maps = ConfigMaps::named(["owned", "first", "second"]).await;
    let informer = maps.informer();
    let owners = WorkQueue::new("owners");
    let controllers = WorkQueue::new("controllers");
    let values = WorkQueue::new("values");
    let handlers = [
        informer.add_handler(enqueue_owners::<ConfigMap, ConfigMap>(&owners)),
        informer.add_handler(enqueue_controllers::<ConfigMap, ConfigMap>(&controllers)),
        informer.add_handler(enqueue_mapped(&values, |map: &Object<ConfigMap>| {
            map.data
                .iter()
                .flat_map(|data| data.values().cloned())
                .collect::<Vec<_>>()
        })),
    ];
    started(&informer).await;
    let handlers = handlers.map(|handler| handler.expect("a handler"));
    for handler in &handlers {
        soon(handler.synced()).await.expect("a sync");
    }
    assert!(owners.is_empty() && controllers.is_empty());
    assert_eq!(*values.try_get().expect("the value of all maps"), "1");

    let own = async |owner: &str, controller: bool| {
        let uid = maps.api.get(owner).await.expect("an object").metadata.uid;
        let reference = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "controller": controller,
        });
        let patch = Patch::Merge(json!({ "metadata": { "ownerReferences": [reference] } }));
        maps.api
            .patch("owned", &PatchParams::default(), &patch)
            .await
            .expect("an object");
    };
    own("first", false).await;
    assert_eq!(soon(owners.get()).await.expect("an item").name(), "first");
    own("second", true).await;
    let both = [soon(owners.get()).await, soon(owners.get()).await]
        .map(|item| item.expect("an item").name().to_owned());
    assert_eq!(both, ["first", "second"], "the old and the new owner");
    assert_eq!(soon(controllers.get()).await.expect("an item").name(), "second");
    maps.delete("owned").await;
    assert_eq!(soon(owners.get()).await.expect("an item").name(), "second");
    stopped(&informer).await;
}

#[tokio::test]
async fn workers_reconcile_events_and_retry() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let queue = WorkQueue::new("maps");
    informer.add_handler(enqueue_keys(&queue)).expect("a handler");
    started(&informer).await;
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let failures = Arc::new(AtomicU32::new(2));
    let lister = informer.lister();
    let reconcile = move |key: Task<Key>| {
        let (sender, failures, lister) = (sender.clone(), Arc::clone(&failures), lister.clone());
        async move {
            if failures
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                .is_ok()
            {
                return Err(format!("attempt {} fails", key.attempt()));
            }
            let value = lister
                .get_key(&key)
                .map(|map| crate::config_maps::value(&map).to_owned());
            drop(sender.send((key.name().to_owned(), key.attempt(), value.ok())));
            Ok(())
        }
    };
    let stop = CancellationToken::new();
    let running = tokio::spawn(workers(queue.clone(), 2, reconcile).run(stop.clone()));
    let worked = soon(receiver.recv()).await.expect("work");
    assert_eq!(worked, ("a".to_owned(), 3, Some("1".to_owned())));
    maps.change("a", "2").await;
    let worked = soon(receiver.recv()).await.expect("work");
    assert_eq!(worked, ("a".to_owned(), 1, Some("2".to_owned())));
    maps.delete("a").await;
    assert_eq!(
        soon(receiver.recv()).await.expect("work"),
        ("a".to_owned(), 1, None)
    );
    stop.cancel();
    assert!(soon(running).await.expect("an end").is_drained());
    stopped(&informer).await;
}

/// The clock is paused while the queue waits: a delay needs no server.
#[tokio::test]
async fn delaying_queue_returns_a_key_after_its_earliest_delay() {
    let maps = ConfigMaps::named(["late", "soon"]).await;
    let informer = maps.informer();
    let queue = WorkQueue::new("maps");
    let delayed = queue.clone();
    let handler = move |event: Event<ConfigMap>| {
        let key = event.key().clone();
        delayed.add_after(key.clone(), Duration::from_mins(1));
        if key.name() == "soon" {
            delayed.add_after(key, Duration::from_secs(10));
        }
    };
    let handler = informer.add_handler(handler).expect("a handler");
    let began = Instant::now();
    started(&informer).await;
    soon(handler.synced()).await.expect("a sync");
    assert_eq!((queue.len(), queue.delayed()), (0, 2), "nothing is due yet");
    pause();
    let mut times = Vec::new();
    for _ in 0..2 {
        let item = soon(queue.get()).await.expect("an item");
        times.push((item.name().to_owned(), began.elapsed().as_secs() / 10));
    }
    // With a tolerance of ten seconds, which includes the time of the sync.
    assert_eq!(times, [("soon".to_owned(), 1), ("late".to_owned(), 6)]);
    assert_eq!((queue.len(), queue.delayed()), (0, 0), "each key once");
    resume();
    stopped(&informer).await;
}

/// Returns whether a time on the paused clock is this long; a timer may be two milliseconds late.
fn is_about(time: Duration, millis: u64) -> bool {
    (Duration::from_millis(millis)..Duration::from_millis(millis + 3)).contains(&time)
}

/// client-go's default limiter: 5 ms after the first failure of a key, and twice as much after each further
/// one.
#[tokio::test]
async fn rate_limited_keys_wait_longer_after_each_failure_until_they_are_forgotten() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let queue = WorkQueue::new("maps");
    let handler = informer.add_handler(enqueue_keys(&queue)).expect("a handler");
    started(&informer).await;
    soon(handler.synced()).await.expect("a sync");
    let mut item = soon(queue.get()).await.expect("the key");
    let key = Key::clone(&item);
    pause();
    let mut waits = Vec::new();
    for failures in 1..=6 {
        queue.add_rate_limited(key.clone());
        assert_eq!(queue.requeues(&key), failures);
        item.done();
        let failed = Instant::now();
        item = soon(queue.get()).await.expect("the key again");
        waits.push(failed.elapsed());
    }
    for (wait, millis) in waits.iter().zip([5, 10, 20, 40, 80, 160]) {
        assert!(is_about(*wait, millis), "{waits:?}");
    }
    queue.forget(&key);
    assert_eq!(queue.requeues(&key), 0);
    queue.add_rate_limited(key);
    item.done();
    let failed = Instant::now();
    drop(soon(queue.get()).await.expect("the key again"));
    assert!(is_about(failed.elapsed(), 5), "{:?}", failed.elapsed());
    resume();
    stopped(&informer).await;
}

#[tokio::test]
async fn workqueue_metrics_use_client_go_names() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let queue = WorkQueue::builder("maps").metrics(&metrics).build();
    let informer = maps.informer();
    let handler = informer.add_handler(enqueue_keys(&queue)).expect("a handler");
    started(&informer).await;
    soon(handler.synced()).await.expect("a sync");
    let item = soon(queue.get()).await.expect("a key");
    queue.add_rate_limited(Key::clone(&item));
    item.done();
    let running = soon(queue.get()).await.expect("the other key");

    let mut page = String::new();
    text::encode(&mut page, &registry).expect("writing to a string cannot fail");
    let value = |name: &str| {
        let series = format!("{name}{{name=\"maps\"}} ");
        let value = page.lines().find_map(|line| line.strip_prefix(&series));
        let value = value.unwrap_or_else(|| panic!("no {series}in\n{page}"));
        value.parse::<f64>().expect("a number")
    };
    assert!(value("workqueue_adds_total") >= 2.0);
    assert!(value("workqueue_retries_total") >= 1.0);
    assert!(value("workqueue_depth") <= 1.0);
    assert!(value("workqueue_queue_duration_seconds_count") >= 2.0);
    assert!(value("workqueue_work_duration_seconds_count") >= 1.0);
    assert!(value("workqueue_unfinished_work_seconds") >= 0.0);
    assert!(value("workqueue_longest_running_processor_seconds") >= 0.0);
    drop(running);
    stopped(&informer).await;
}
