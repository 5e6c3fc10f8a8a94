//! Custom resources whose definition is created late, deleted and created again.

use std::time::Duration;

use kube_informer::Backoff;

use crate::informers::{PATIENCE, started, stopped};
use crate::widgets::Widgets;

/// A short backoff, so that a test in real time is fast, but long enough to count requests.
const SHORT_BACKOFF: Backoff = Backoff {
    initial: Duration::from_millis(500),
    factor: 2.0,
    cap: Duration::from_secs(2),
    jitter: 0.0,
    reset: Duration::from_mins(2),
};

/// The definition is missing at first, then created, deleted, and created again.
#[tokio::test]
async fn informer_follows_a_custom_kind_that_is_created_deleted_and_recreated() {
    let mut widgets = Widgets::new(SHORT_BACKOFF).await;
    widgets.informer.start().expect("a start");
    let missing = format!(
        "server does not serve {}/v1 Widget (404): waiting until it does\nhint: is the CustomResourceDefinition \
         widgets.{} installed?",
        widgets.group, widgets.group
    );
    widgets.complaint(&missing).await;
    let error = widgets.informer.wait_for_sync(Duration::ZERO).await;
    assert!(error.is_err_and(|error| error.is_not_served() && error.is_timeout()));

    widgets.define().await;
    widgets.informer.wait_for_sync(PATIENCE).await.expect("a sync");
    for name in ["a", "b"] {
        widgets.make(name).await;
    }
    assert_eq!(widgets.received.listed(2).await, ["+a", "+b"]);
    let version = widgets.informer.resource_version().expect("a version");
    widgets.take_errors();

    widgets.asked.take();
    widgets.undefine().await;
    // Deleting the definition deletes the objects first, which the watch reports.
    assert_eq!(widgets.received.listed(2).await, ["-a", "-b"]);
    widgets.complaint("clearing the cache").await;
    assert!(widgets.informer.lister().is_empty());
    assert!(widgets.informer.has_synced() && !widgets.informer.is_stopped());
    let emptied = widgets.informer.resource_version().expect("a version");
    assert!(!emptied.is_before(&version), "{version} before, {emptied} after");
    let asked = widgets.asked.take();
    assert!(asked.len() <= 20, "{} requests: {asked:#?}", asked.len());

    widgets.define().await;
    widgets.make("c").await;
    assert_eq!(widgets.received.next().await.key().name(), "c");
    let again = widgets.informer.resource_version().expect("a version");
    assert!(emptied.is_before(&again), "{emptied} before, {again} after");
    assert_eq!(widgets.informer.lister().len(), 1);
    assert!(widgets.received.rest().is_empty());
    stopped(&widgets.informer).await;
    widgets.undefine().await;
}

/// When a version is no longer served, the objects still exist, but not for readers of that version.
#[tokio::test]
async fn cache_is_emptied_when_a_version_is_no_longer_served() {
    let mut widgets = Widgets::new(SHORT_BACKOFF).await;
    widgets.define().await;
    widgets.make("a").await;
    started(&widgets.informer).await;
    assert_eq!(widgets.received.word().await, "*a");
    let version = widgets.informer.resource_version();

    widgets.asked.take();
    widgets.serve_v1(false).await;
    assert_eq!(widgets.received.word().await, "?a");
    assert!(widgets.informer.lister().is_empty());
    let gone = widgets.informer.resource_version();
    assert!(!gone.is_none_or(|gone| version.is_some_and(|version| gone.is_before(&version))));
    widgets.complaint("no longer serves").await;
    let asked = widgets.asked.take();
    assert!(asked.len() <= 20, "{} requests: {asked:#?}", asked.len());

    widgets.serve_v1(true).await;
    assert_eq!(widgets.received.word().await, "+a");
    stopped(&widgets.informer).await;
    widgets.undefine().await;
}
