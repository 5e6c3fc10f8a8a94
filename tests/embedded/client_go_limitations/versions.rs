//! Versions: what a relist keeps, and what a bookmark advances.

use std::time::Duration;

use kube_embedded::{Fault, On};
use kube_informer::{Object, Selector};

use crate::observed_informer::ObservedInformer;

/// 4. A relist keeps old and new objects in memory at once. Here objects with an unchanged version are kept,
/// not replaced by equal ones.
#[tokio::test(start_paused = true)]
async fn relist_keeps_unchanged_objects() {
    for streaming in [true, false] {
        let (server, observed) =
            ObservedInformer::paused(|informer| informer.streaming_list(streaming)).await;
        for name in ["a", "b", "c"] {
            observed.create(name).await;
        }
        observed.start().await;
        let before = observed.informer.lister().list(&Selector::everything());
        server
            .faults()
            .add(On::watch("configmaps").once(), Fault::expired());
        server.cut_connections();
        observed.change("b", "2").await;
        observed.catches_up().await;
        assert!(
            observed
                .tap
                .words()
                .iter()
                .filter(|word| *word != "watch last")
                .count()
                > 1,
            "a relist"
        );
        for old in &before {
            let key = old.metadata.name.clone().unwrap_or_default();
            let new = observed
                .informer
                .lister()
                .namespace("default")
                .get(&key)
                .expect("a cached object");
            assert_eq!(Object::ptr_eq(old, &new), key != "b", "{key}");
        }
    }
}

/// 13, 26. Progress without changes is visible by polling only. Here bookmarks advance the cache's version,
/// and a version can be awaited.
#[tokio::test(start_paused = true)]
async fn bookmarks_advance_the_cache_version() {
    let (server, observed) = ObservedInformer::paused(|informer| informer).await;
    observed.create("a").await;
    observed.start().await;
    let begin = tokio::time::Instant::now();
    server.advance_resource_version(500);
    let newest = server.resource_version();
    observed.reach(newest).await;
    assert!(
        begin.elapsed() <= Duration::from_secs(61),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(observed.informer.resource_version(), Some(newest.into()));
}
