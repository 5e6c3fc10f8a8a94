//! Queue and controller: ordered deltas, atomic replace, store first.
//!
//! Both are internal to an informer, so the tests observe its events and its cache. A gate in front of the
//! server forces a relist if necessary.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc as blocking};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    Error, Event, HandlerOptions, Object, ResourceVersion, SharedInformer, Snapshot,
    error::Operation,
    source::{
        ApiListWatch, ListRequest, ListStream, ListWatch, RawObject, WatchEvent, WatchRequest, WatchStream,
    },
};
use tokio::sync::mpsc;

use crate::config_maps::{ConfigMaps, value};
use crate::informers::{caught_up, event_word, recording_handler, soon, sorted, started, stopped};

const HOUR: Duration = Duration::from_hours(1);

#[tokio::test]
async fn watch_events_become_added_updated_deleted() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let (handler, mut received) = recording_handler();
    let options = HandlerOptions::new().every_event();
    informer.add_handler_with(handler, options).expect("a handler");
    started(&informer).await;
    maps.create("b", "1").await;
    maps.change("b", "2").await;
    maps.delete("b").await;
    assert_eq!(received.until("-b").await, ["*a", "+b", "~b", "-b"]);
    assert_eq!(informer.status().queued, 0);
    stopped(&informer).await;
}

#[tokio::test]
async fn list_is_compared_with_the_cache() {
    let maps = ConfigMaps::named(["changes", "goes", "stays"]).await;
    let (builder, gate) = maps.gated();
    let informer = builder.build();
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    received.listed(3).await;
    let stays = informer.lister().get_key(&maps.key("stays")).expect("the object");

    gate.close();
    maps.change("changes", "2").await;
    maps.delete("goes").await;
    maps.create("brief", "1").await;
    maps.delete("brief").await;
    let version = maps.create("new", "1").await;
    maps.open(&gate).await;
    caught_up(&informer, version).await;
    // Deletions come first. Objects that were created and deleted in between cause no event, and unchanged
    // objects are not replaced.
    assert_eq!(received.word().await, "?goes");
    assert_eq!(received.listed(2).await, ["+new", "~changes"]);
    let same = informer.lister().get_key(&maps.key("stays")).expect("the object");
    assert!(Object::ptr_eq(&stays, &same));
    maps.create("end", "1").await;
    assert_eq!(received.word().await, "+end");
    stopped(&informer).await;
}

/// A source whose watch repeats every event.
struct DuplicatingSource(ApiListWatch<ConfigMap>);

fn twice(event: WatchEvent<ConfigMap>) -> Result<Vec<WatchEvent<ConfigMap>>, Error> {
    let again = |item: RawObject<ConfigMap>| {
        let (_, _, object) = item.into_parts()?;
        Ok::<_, Error>((RawObject::decoded(object.clone())?, RawObject::decoded(object)?))
    };
    Ok(match event {
        WatchEvent::Added(item) => {
            let (one, two) = again(item)?;
            vec![WatchEvent::Added(one), WatchEvent::Added(two)]
        }
        WatchEvent::Modified(item) => {
            let (one, two) = again(item)?;
            vec![WatchEvent::Modified(one), WatchEvent::Modified(two)]
        }
        WatchEvent::Deleted(item) => {
            let (one, two) = again(item)?;
            vec![WatchEvent::Deleted(one), WatchEvent::Deleted(two)]
        }
        other => vec![other],
    })
}

impl ListWatch<ConfigMap> for DuplicatingSource {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<ConfigMap>, Error>> {
        self.0.list(request)
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<ConfigMap>, Error>> {
        async move {
            let events = self.0.watch(request).await?;
            let doubled = events.flat_map(|event| {
                let events = match event.and_then(twice) {
                    Ok(events) => events.into_iter().map(Ok).collect(),
                    Err(error) => vec![Err(error)],
                };
                stream::iter(events)
            });
            Ok(doubled.boxed())
        }
        .boxed()
    }
}

#[tokio::test]
async fn duplicate_events_count_once() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = SharedInformer::builder_from(DuplicatingSource(maps.source()), ()).build();
    let (handler, mut received) = recording_handler();
    let options = HandlerOptions::new().every_event();
    informer.add_handler_with(handler, options).expect("a handler");
    started(&informer).await;
    maps.create("b", "1").await;
    maps.change("b", "2").await;
    maps.delete("b").await;
    maps.delete("a").await;
    maps.create("end", "1").await;
    assert_eq!(
        received.until("+end").await,
        ["*a", "+b", "~b", "-b", "-a", "+end"]
    );
    assert_eq!(informer.status().errors, 0);
    stopped(&informer).await;
}

#[tokio::test]
async fn resync_skips_queued_objects() {
    let maps = ConfigMaps::named(["a", "b", "c"]).await;
    let (builder, gate) = maps.gated();
    let informer = builder.resync(HOUR).build();
    let (release, held) = blocking::channel::<()>();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let slow = informer.add_handler(move |event: Event<ConfigMap>| {
        drop(sender.send(event_word(&event)));
        let _ = held.recv();
    });
    let slow = slow.expect("a handler");
    let (handler, mut quick) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    for _ in 0..3 {
        soon(receiver.recv()).await.expect("an object");
        release.send(()).expect("a handler");
    }
    soon(slow.synced()).await.expect("a sync");
    quick.listed(3).await;
    maps.change("a", "2").await;
    assert_eq!(soon(receiver.recv()).await.as_deref(), Some("~a"));
    assert_eq!(quick.word().await, "~a");

    // While it handles a, b changes and is queued; then a relist causes a resync of all objects.
    maps.change("b", "2").await;
    assert_eq!(quick.word().await, "~b");
    gate.close();
    let version = maps.create("d", "1").await;
    maps.open(&gate).await;
    caught_up(&informer, version).await;
    assert_eq!(quick.until("+d").await.last().map(String::as_str), Some("+d"));
    drop(release);
    stopped(&informer).await;
    let mut words = Vec::new();
    while let Some(word) = soon(receiver.recv()).await {
        words.push(word);
    }
    // For b and d there are changes; a and c are repeated.
    assert_eq!(sorted(words), ["+d", "=a", "=c", "~b"]);
}

#[tokio::test]
async fn synced_means_the_first_list_is_in_the_store() {
    let maps = ConfigMaps::named(["a", "b", "c"]).await;
    let (builder, gate) = maps.gated();
    let informer = builder.build();
    gate.close();
    informer.start().expect("a start");
    let mut synced = pin!(informer.synced());
    assert!(futures::poll!(&mut synced).is_pending());
    let (handler, mut received) = recording_handler();
    let registration = informer.add_handler(handler).expect("a handler");
    assert!(!informer.has_synced() && !registration.has_synced());
    assert!(informer.lister().is_empty() && informer.resource_version().is_none());
    maps.open(&gate).await;
    soon(synced).await.expect("a sync");
    assert_eq!(informer.lister().len(), 3);
    assert!(informer.resource_version().is_some());
    assert_eq!(received.listed(3).await, ["*a", "*b", "*c"]);
    stopped(&informer).await;
}

#[tokio::test]
async fn closing_ends_all_waits() {
    let maps = ConfigMaps::named(["a"]).await;
    let (builder, gate) = maps.gated();
    let informer = builder.build();
    gate.close();
    informer.start().expect("a start");
    let waiting = [informer.clone(), informer.clone()].map(|informer| async move { informer.synced().await });
    let (waited, ()) =
        soon(async { tokio::join!(futures::future::join_all(waiting), informer.shutdown()) }).await;
    assert!(
        waited
            .into_iter()
            .all(|waited| waited.is_err_and(|error| error.is_stopped()))
    );
}

#[tokio::test]
async fn watch_order_is_kept_across_objects() {
    let maps = ConfigMaps::named([]).await;
    let (informer, let_go) = maps.held();
    let (handler, mut received) = recording_handler();
    let options = HandlerOptions::new().every_event();
    informer.add_handler_with(handler, options).expect("a handler");
    started(&informer).await;
    let_go.send_replace(false);
    let mut wanted = Vec::new();
    for name in ["a", "b", "c"] {
        maps.create(name, "1").await;
        wanted.push(format!("+{name}"));
    }
    for (name, value) in [("c", "2"), ("a", "2"), ("c", "3"), ("b", "2"), ("a", "3")] {
        maps.change(name, value).await;
        wanted.push(format!("~{name}"));
    }
    maps.delete("c").await;
    maps.create("c", "1").await;
    maps.delete("a").await;
    wanted.extend(["-c", "+c", "-a"].map(String::from));
    let_go.send_replace(true);
    let mut words = Vec::new();
    let mut versions = Vec::new();
    for _ in 0..wanted.len() {
        let event = received.next().await;
        words.push(event_word(&event));
        versions.push(event.object().version().clone());
    }
    assert_eq!(words, wanted);
    assert!(versions.is_sorted_by(ResourceVersion::is_before), "{versions:?}");
    stopped(&informer).await;
}

fn contents(snapshot: &Snapshot<ConfigMap>) -> BTreeMap<String, String> {
    let pair = |map: Object<ConfigMap>| (map.key().name().to_owned(), value(&map).to_owned());
    snapshot.iter().map(pair).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replace_is_atomic() {
    let maps = ConfigMaps::named(["a", "b", "c", "d"]).await;
    let (builder, gate) = maps.gated();
    let informer = builder.build();
    let lister = informer.lister();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let seen = lister.clone();
    informer
        .add_handler(move |event: Event<ConfigMap>| {
            drop(sender.send((event_word(&event), contents(&seen.snapshot()))));
        })
        .expect("a handler");
    // The index function runs during the write, so it would see a partial update.
    let (look, mut looked) = mpsc::unbounded_channel();
    let midst = lister.clone();
    informer
        .index("look", move |_: &ConfigMap| {
            drop(look.send(contents(&midst.snapshot())));
            None::<String>
        })
        .expect("an index");
    started(&informer).await;
    for _ in 0..4 {
        soon(receiver.recv()).await.expect("an object");
        assert_eq!(soon(looked.recv()).await, Some(BTreeMap::new()));
    }
    let before = contents(&informer.snapshot());

    gate.close();
    for name in ["a", "b"] {
        maps.change(name, "2").await;
    }
    maps.delete("c").await;
    let version = maps.create("e", "2").await;
    let after: BTreeMap<String, String> = [("a", "2"), ("b", "2"), ("d", "1"), ("e", "2")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let done = Arc::new(AtomicBool::new(false));
    let reader = {
        let (lister, done) = (lister.clone(), Arc::clone(&done));
        let (before, after) = (before.clone(), after.clone());
        std::thread::spawn(move || {
            let mut last = before.clone();
            while !done.load(Ordering::Acquire) {
                let now = contents(&lister.snapshot());
                assert!(
                    now == last || last == before && now == after,
                    "{last:?} then {now:?}"
                );
                last = now;
            }
        })
    };
    maps.open(&gate).await;
    let reached = informer
        .wait_for_version(version, crate::informers::PATIENCE)
        .await;
    done.store(true, Ordering::Release);
    reader.join().expect("only the two states");
    reached.expect("the version of a write");
    for _ in ["a", "b", "e"] {
        assert_eq!(soon(looked.recv()).await.as_ref(), Some(&before));
    }
    // When a handler gets the first change of the list, the store also has the last one.
    for _ in 0..4 {
        let (word, then) = soon(receiver.recv()).await.expect("a change");
        assert_eq!(then, after, "{word}");
    }
    stopped(&informer).await;
}

#[tokio::test]
async fn errors_of_every_part_are_reported() {
    let maps = ConfigMaps::named(["a"]).await;
    let (builder, gate) = maps.gated();
    let (sender, mut receiver) = mpsc::unbounded_channel::<Error>();
    let ripe = AtomicBool::new(false);
    let transform = move |map: &mut ConfigMap| match value(map) {
        "unripe" if !ripe.swap(true, Ordering::SeqCst) => Err("not ripe"),
        _ => Ok(()),
    };
    let informer = builder
        .watch_error_handler(move |error| drop(sender.send(error.clone())))
        .try_transform(transform)
        .build();
    let fail = |map: &ConfigMap| match value(map) {
        "odd" => Err("an odd value"),
        value => Ok([value.to_owned()]),
    };
    informer.try_index("value", fail).expect("an index");
    started(&informer).await;

    // In the controller: an index function.
    let version = maps.change("a", "odd").await;
    caught_up(&informer, version).await;
    let error = soon(receiver.recv()).await.expect("an error");
    assert!(error.is_user_code() && error.operation() == Some(Operation::Cache));
    assert!(error.to_string().contains("an odd value"), "{error}");
    // In the reflector: the watch.
    gate.close();
    let error = soon(receiver.recv()).await.expect("an error");
    assert!(error.is_expired() && error.operation() == Some(Operation::Watch));
    maps.open(&gate).await;
    // In between: a transform. The informer retries, and the object is cached.
    let version = maps.create("b", "unripe").await;
    caught_up(&informer, version).await;
    let error = soon(receiver.recv()).await.expect("an error");
    assert!(
        error.is_user_code() && error.to_string().contains("not ripe"),
        "{error}"
    );
    assert_eq!(informer.lister().len(), 2);
    let status = informer.status();
    assert_eq!(status.errors, 3);
    assert!(status.last_error.is_some_and(|last| last.is_user_code()));
    stopped(&informer).await;
}

/// On several threads, so that a handler can read the cache while the writer continues.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_contains_a_change_before_handlers_are_notified() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let index = informer
        .index("value", |map: &ConfigMap| [value(map).to_owned()])
        .expect("an index");
    let lister = informer.lister();
    let mut events = informer.events().expect("a stream");
    started(&informer).await;
    for step in ["*a", "~a", "-a"] {
        match step {
            "~a" => drop(maps.change("a", "2").await),
            "-a" => maps.delete("a").await,
            _ => {}
        }
        let event = soon(events.next()).await.expect("an event");
        let held = lister.get_key(event.key()).ok();
        let indexed = index.keys(value(event.object())).contains(event.key());
        let version = lister.snapshot().version().cloned();
        assert_eq!(event_word(&event), step);
        let there = step != "-a";
        assert_eq!((held.is_some(), indexed), (there, there), "{step}");
        if let Some(held) = held {
            assert!(Object::ptr_eq(&held, event.object()));
        }
        assert!(version.is_some_and(|version| !version.is_before(event.object().version())));
    }
    stopped(&informer).await;
}

#[tokio::test]
async fn unchanged_objects_of_a_list_count_as_a_resync() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    let (builder, gate) = maps.gated();
    let informer = builder.resync(HOUR).build();
    let (handler, mut asking) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    let (handler, mut unasking) = recording_handler();
    let options = HandlerOptions::new().resync(Duration::ZERO);
    informer.add_handler_with(handler, options).expect("a handler");
    started(&informer).await;
    asking.listed(2).await;
    unasking.listed(2).await;
    gate.close();
    maps.change("a", "2").await;
    maps.open(&gate).await;
    assert_eq!(asking.listed(2).await, ["=b", "~a"]);
    maps.create("end", "1").await;
    assert_eq!(unasking.until("+end").await, ["~a", "+end"]);
    stopped(&informer).await;
}
