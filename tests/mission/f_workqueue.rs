//! F. Work queue and workers: dedup, delay, rate limits, priority, workers, metrics.
//!
//! The rows' own rules are tested in `kube-workqueue`; here a queue is fed by informers, on a real cluster's changes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube_informer::prelude::*;
use serde_json::json;
use tokio::sync::mpsc;

use crate::informers::{Maps, caught_up, soon, started, stopped};

/// What is in line, in its order, with its priority.
fn taken(queue: &WorkQueue<Key>) -> Vec<(String, i32)> {
    let mut taken = Vec::new();
    while let Some(item) = queue.try_get() {
        taken.push((item.name().to_owned(), item.priority()));
    }
    taken
}

#[tokio::test]
async fn f1_many_changes_of_an_object_are_one_item() {
    let maps = Maps::holding(["a", "b"]).await;
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
    // The handler follows the cache, and is done when nothing waits for it.
    while enqueued.backlog() > 0 || queue.len() < 3 {
        tokio::task::yield_now().await;
    }
    let names: BTreeSet<String> = taken(&queue).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b", "c"].map(String::from).into());
    stopped(&informer).await;
}

#[tokio::test]
async fn f4_what_was_there_is_low_and_news_go_first() {
    let maps = Maps::holding(["a", "b", "c"]).await;
    let informer = maps.informer();
    let queue = WorkQueue::new("maps");
    let enqueued = informer.add_handler(enqueue_keys(&queue)).expect("a handler");
    started(&informer).await;
    soon(enqueued.synced()).await.expect("a sync");
    maps.create("new", "1").await;
    let version = maps.change("b", "2").await;
    caught_up(&informer, version).await;
    while enqueued.backlog() > 0 || queue.len() < 4 {
        tokio::task::yield_now().await;
    }
    // The change of b, which may be told a moment later, raises it.
    let raised = loop {
        let mut items = Vec::new();
        while let Some(item) = queue.try_get() {
            items.push(item);
        }
        let now: Vec<(String, i32)> = items
            .iter()
            .map(|item| (item.name().to_owned(), item.priority()))
            .collect();
        let news = now.iter().filter(|(_, priority)| *priority == 0).count();
        for item in &items {
            queue.add_with(Key::clone(item), AddOptions::new().priority(item.priority()));
        }
        drop(items);
        if news == 2 {
            break now;
        }
        tokio::task::yield_now().await;
    };
    let (news, rest) = raised.split_at(2);
    let names = |items: &[(String, i32)]| {
        items
            .iter()
            .map(|(name, _)| name.clone())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(names(news), ["b", "new"].map(String::from).into());
    assert_eq!(names(rest), ["a", "c"].map(String::from).into());
    assert!(rest.iter().all(|(_, priority)| *priority == -100));
    stopped(&informer).await;
}

#[tokio::test]
async fn f5_owners_and_mapped_items_are_enqueued_also_when_they_lose_an_object() {
    let maps = Maps::holding(["owned", "first", "second"]).await;
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
    assert_eq!(*values.try_get().expect("the value of all"), "1");

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
    assert_eq!(
        both,
        ["first", "second"],
        "the one that lost it, and the one that has it"
    );
    assert_eq!(soon(controllers.get()).await.expect("an item").name(), "second");
    maps.delete("owned").await;
    assert_eq!(soon(owners.get()).await.expect("an item").name(), "second");
    stopped(&informer).await;
}

#[tokio::test]
async fn f5_workers_reconcile_what_informers_tell_and_try_again() {
    let maps = Maps::holding(["a"]).await;
    let informer = maps.informer();
    let queue = WorkQueue::new("maps");
    informer.add_handler(enqueue_keys(&queue)).expect("a handler");
    started(&informer).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let failures = Arc::new(AtomicU32::new(2));
    let lister = informer.lister();
    let reconcile = move |key: Task<Key>| {
        let (tell, failures, lister) = (tell.clone(), Arc::clone(&failures), lister.clone());
        async move {
            if failures
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                .is_ok()
            {
                return Err(format!("attempt {} fails", key.attempt()));
            }
            let value = lister
                .get_key(&key)
                .map(|map| crate::informers::value(&map).to_owned());
            drop(tell.send((key.name().to_owned(), key.attempt(), value.ok())));
            Ok(())
        }
    };
    let stop = CancellationToken::new();
    let running = tokio::spawn(workers(queue.clone(), 2, reconcile).run(stop.clone()));
    let worked = soon(told.recv()).await.expect("work");
    assert_eq!(worked, ("a".to_owned(), 3, Some("1".to_owned())));
    maps.change("a", "2").await;
    let worked = soon(told.recv()).await.expect("work");
    assert_eq!(worked, ("a".to_owned(), 1, Some("2".to_owned())));
    maps.delete("a").await;
    assert_eq!(soon(told.recv()).await.expect("work"), ("a".to_owned(), 1, None));
    stop.cancel();
    assert!(soon(running).await.expect("an end").is_drained());
    stopped(&informer).await;
}
