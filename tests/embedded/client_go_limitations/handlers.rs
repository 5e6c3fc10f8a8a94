//! Handlers: late join, missed deletions, relists and resyncs.

use std::time::Duration;

use kube_informer::{Event, HandlerOptions};

use crate::observed_informer::ObservedInformer;

/// 2, 32. Initial adds of a late handler, or a stalled handler, delay all others. Here a handler starts with
/// a snapshot and has its own queue.
#[tokio::test(start_paused = true)]
async fn late_handler_does_not_delay_others() {
    let (server, observed) = ObservedInformer::paused(|informer| informer).await;
    let objects = (0..2000).map(|n| {
        serde_json::json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": format!("map-{n}"), "namespace": "default" },
        })
    });
    server.load(objects).expect("objects");
    observed.start().await;
    let mut first = observed.events();
    first.sorted(2000).await;
    let stuck = observed.informer.events().expect("a running informer");
    let mut late = observed.events();
    observed.create("new").await;
    assert_eq!(
        first.next().await,
        "+new",
        "other handlers do not wait for a late one"
    );
    assert!(!stuck.registration().has_synced());
    let mut seen = late.sorted(2001).await;
    seen.dedup();
    assert_eq!(seen.len(), 2001, "each object once");
}

/// 15. A missed deletion is delivered with an old state or none. Here it has the last known state, and is
/// marked.
#[tokio::test(start_paused = true)]
async fn missed_deletion_has_the_last_known_state() {
    let (server, observed) = ObservedInformer::paused(|informer| informer).await;
    observed.create("a").await;
    observed.start().await;
    let known = observed.change("a", "2").await;
    observed.reach(known).await;
    let mut events = observed.events();
    assert_eq!(events.next().await, "+a");
    server.faults().add(
        kube_embedded::On::watch("configmaps").once(),
        kube_embedded::Fault::expired(),
    );
    server.cut_connections();
    observed.delete("a").await;
    match events.event().await {
        Event::Deleted(gone) => {
            assert!(gone.is_final_state_unknown());
            assert_eq!(gone.last_seen().version().to_string(), known.to_string());
            assert_eq!(
                gone.data
                    .as_ref()
                    .and_then(|data| data.get("value"))
                    .map(String::as_str),
                Some("2")
            );
        }
        other => panic!("{other:?}"),
    }
}

/// 22. A relist without changes calls handlers that did not request a resync. Here only handlers with a
/// resync are called.
#[tokio::test(start_paused = true)]
async fn unchanged_relist_notifies_only_resyncing_handlers() {
    let resync = Duration::from_hours(10);
    let (server, observed) = ObservedInformer::paused(|informer| informer.resync(resync)).await;
    for name in ["a", "b", "c"] {
        observed.create(name).await;
    }
    let mut quiet = observed.events_with(HandlerOptions::new().resync(Duration::ZERO));
    let mut asking = observed.events();
    observed.start().await;
    for events in [&mut quiet, &mut asking] {
        assert_eq!(events.sorted(3).await, ["+a", "+b", "+c"]);
        events.nothing();
    }
    server.faults().add(
        kube_embedded::On::watch("configmaps").once(),
        kube_embedded::Fault::expired(),
    );
    server.cut_connections();
    assert_eq!(
        asking.sorted(3).await,
        ["~a", "~b", "~c"],
        "handlers with a resync"
    );
    quiet.nothing();
    observed.create("d").await;
    assert_eq!(quiet.next().await, "+d");
}

/// 7. A resync uses the queue and may repeat an object whose deletion is queued, or send requests. Here it
/// iterates over a snapshot: it repeats no deleted object and sends no request.
#[tokio::test(start_paused = true)]
async fn resync_skips_pending_objects() {
    let (server, observed) =
        ObservedInformer::paused(|informer| informer.resync(Duration::from_mins(1))).await;
    observed.create("a").await;
    observed.create("b").await;
    observed.start().await;
    let mut events = observed.events();
    assert_eq!(events.sorted(2).await, ["+a", "+b"]);
    events.nothing();
    let requests = server.requests().len();
    tokio::time::sleep(Duration::from_secs(61)).await;
    observed.delete("a").await;
    let last = observed.create("c").await;
    observed.reach(last).await;
    assert_eq!(
        server.requests().len(),
        requests + 2,
        "only the requests of this test"
    );
    let words = events.sorted(3).await;
    assert_eq!(words, ["+c", "-a", "~b"], "no deleted object and no duplicate");
}
