//! Servers that go back to an older version: the informer reports this and follows.

use std::time::Duration;

use kube_embedded::{Backup, Fault, On, Server};
use tokio::time::{Instant, timeout};

use crate::observed_informer::ObservedInformer;

/// The backup contains `a`. Afterwards `a` changes, `b` is created, and `c` is created and deleted.
async fn before_the_restore(streaming: bool) -> (Server, ObservedInformer, Backup) {
    let (server, observed) = ObservedInformer::paused(|informer| informer.streaming_list(streaming)).await;
    observed.create("a").await;
    observed.create("gone").await;
    let backup = server.backup();
    observed.start().await;
    tokio::time::sleep(Duration::from_mins(3)).await;
    server.advance_resource_version(1000);
    observed.change("a", "2").await;
    observed.delete("gone").await;
    let last = observed.create("b").await;
    observed.reach(last).await;
    (server, observed, backup)
}

/// Embedded only, like backups.
#[tokio::test(start_paused = true)]
async fn restored_server_is_detected_reported_and_followed() {
    for streaming in [true, false] {
        let (server, mut observed, backup) = before_the_restore(streaming).await;
        let mut events = observed.events();
        assert_eq!(events.sorted(2).await, ["+a", "+b"]);
        let high = observed.informer.resource_version().expect("a version");
        server.restore(&backup);
        let begin = Instant::now();
        let error = observed.error_that(kube_informer::Error::is_going_back).await;
        assert!(begin.elapsed() < Duration::from_mins(10), "{:?}", begin.elapsed());
        let text = error.to_string();
        assert!(
            text.contains("configmaps") && text.contains("went back"),
            "{text}"
        );
        assert_eq!(events.sorted(3).await, ["+gone", "-b?", "~a"]);
        observed.equals_server().await;
        let low = observed.informer.resource_version().expect("a version");
        assert!(low.is_before(&high), "{low}");
        assert_eq!(observed.informer.status().went_back, 1);
        // Afterwards the informer works normally.
        observed.change("a", "3").await;
        observed.create("c").await;
        assert_eq!(events.sorted(2).await, ["+c", "~a"]);
        observed.equals_server().await;
        tokio::time::sleep(Duration::from_hours(1)).await;
        assert_eq!(observed.informer.status().went_back, 1, "reported once");
        assert!(observed.tap.all().len() < 40, "{:?}", observed.tap.words());
    }
}

/// Each handler's history stays `add (update)* delete`, and the old state of each update is the last
/// delivered one.
#[tokio::test(start_paused = true)]
async fn handlers_receive_a_valid_history_after_a_restore() {
    let (server, mut observed, backup) = before_the_restore(true).await;
    let mut events = observed.events();
    let first = events.event().await;
    let second = events.event().await;
    let seen = [first, second]
        .into_iter()
        .find(|event| event.key().name() == "a")
        .expect("a");
    server.restore(&backup);
    observed.error_that(kube_informer::Error::is_going_back).await;
    loop {
        match events.event().await {
            kube_informer::Event::Updated { old, new } => {
                assert_eq!(old.version(), seen.object().version());
                assert!(new.version().is_before(old.version()));
                break;
            }
            kube_informer::Event::Deleted(gone) => {
                assert_eq!(gone.key().name(), "b");
                assert!(gone.is_final_state_unknown());
            }
            kube_informer::Event::Added { object, .. } => assert_eq!(object.key().name(), "gone"),
        }
    }
}

/// A stale server behind a load balancer returns a list that is older than the cache.
#[tokio::test(start_paused = true)]
async fn list_older_than_the_cache_is_not_applied() {
    let (server, mut observed) = ObservedInformer::paused(|informer| informer.streaming_list(false)).await;
    observed.create("a").await;
    observed.start().await;
    let mut events = observed.events();
    assert_eq!(events.next().await, "+a");
    observed.change("a", "2").await;
    let last = observed.change("a", "3").await;
    observed.reach(last).await;
    let cached = observed.cached();
    server
        .faults()
        .add(On::list("configmaps").once(), Fault::StaleList(2));
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::expired());
    server.cut_connections();
    let error = observed.error_that(kube_informer::Error::is_behind).await;
    assert!(error.to_string().contains("listing configmaps"), "{error}");
    assert_eq!(observed.cached(), cached);
    observed.catches_up().await;
    let words = observed.tap.words();
    assert_eq!(
        words[words.len() - 3..],
        ["list last", "list newest 500", "watch last"],
        "{words:?}"
    );
    assert_eq!(
        events.until("+marker-0").await.last().map(String::as_str),
        Some("+marker-0")
    );
}

/// A wait for a version that was lost in the restore ends with an error that contains the cache's version.
#[tokio::test(start_paused = true)]
async fn wait_for_a_lost_version_ends() {
    let (server, observed, backup) = before_the_restore(true).await;
    let lost = server.resource_version() + 1;
    server.restore(&backup);
    let wait = observed.informer.wait_for_version(lost, Duration::from_mins(20));
    let waited = timeout(Duration::from_hours(1), wait).await.expect("an end");
    let error = waited.expect_err("the version is lost");
    assert!(error.is_timeout(), "{error}");
    assert!(error.to_string().contains(&lost.to_string()), "{error}");
}

/// Without bookmarks: the first one may not have arrived, or the server may send none.
#[tokio::test(start_paused = true)]
async fn restore_is_detected_without_bookmarks() {
    for bookmarks in [true, false] {
        let (server, mut observed) =
            ObservedInformer::paused(|informer| informer.streaming_list(false)).await;
        if !bookmarks {
            server.faults().add(On::watch("configmaps"), Fault::NoBookmarks);
        }
        observed.create("a").await;
        let backup = server.backup();
        server.advance_resource_version(1000);
        observed.create("b").await;
        observed.start().await;
        server.restore(&backup);
        let begin = Instant::now();
        let error = observed.error_that(kube_informer::Error::is_going_back).await;
        assert!(
            begin.elapsed() < Duration::from_mins(21),
            "{:?}: {error}",
            begin.elapsed()
        );
        observed.create("c").await;
        tokio::time::sleep(Duration::from_mins(1)).await;
        observed.equals_server().await;
    }
}
