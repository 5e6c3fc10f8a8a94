//! Kinds that are served late, removed, and served again.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Error, InformerBuilder, ResourceVersion, SharedInformer};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep};

use crate::logged::{Log, subscribe};
use crate::recording::{LONG, check_final_state, recorder};
use crate::scripted::Server;

/// Creates a server that does not serve the kind.
fn without_the_kind(keys: &[&str]) -> Server {
    let server = Server::with(keys);
    server.serve(false);
    server
}

/// Builds an informer, and collects its errors.
fn with_errors(builder: InformerBuilder<ConfigMap>) -> (SharedInformer<ConfigMap>, UnboundedReceiver<Error>) {
    let (sender, errors) = unbounded_channel();
    let builder = builder.watch_error_handler(move |error| drop(sender.send(error.clone())));
    (builder.build(), errors)
}

/// Contract 8: a wait that times out names the missing kind.
#[tokio::test(start_paused = true)]
async fn contract_8_a_kind_that_is_served_late_is_waited_for() {
    let server = without_the_kind(&["a/n0", "a/n1"]);
    let (informer, mut errors) = with_errors(server.builder());
    let (handler, mut recording) = recorder();
    informer.add_handler(handler).unwrap();
    informer.start().unwrap();
    let error = informer.wait_for_sync(LONG).await.unwrap_err();
    assert!(error.is_timeout() && error.is_not_served() && error.is_not_found());
    let text = format!("{error:#}");
    assert!(text.contains("does not serve v1 ConfigMap (404)"), "{text}");
    assert!(!informer.has_synced() && !informer.is_stopped());
    assert!(informer.lister().is_empty() && informer.resource_version().is_none());
    assert!(recording.now().is_empty());
    assert!(errors.try_recv().unwrap().is_not_served());

    server.serve(true);
    informer.wait_for_sync(LONG).await.expect("once it is served");
    let mut added = recording.some(2).await;
    added.sort();
    assert_eq!(added, ["* a/n0@2", "* a/n1@3"]);
    informer.shutdown().await;
}

/// Contracts 2 and 3: the cache of a removed kind is empty, at its last version, and every handler gets the
/// deletions.
#[tokio::test(start_paused = true)]
async fn contract_3_removing_a_kind_deletes_its_objects() {
    let server = Server::with(&["a/n0", "a/n1"]);
    let (informer, mut errors) = with_errors(server.builder());
    let (handler, mut recording) = recorder();
    informer.add_handler(handler).unwrap();
    let (whole_story, mut all) = recorder();
    informer.add_handler(whole_story).unwrap();
    informer.start().unwrap();
    recording.some(2).await;

    sleep(LONG).await;
    server.delete("a/n0");
    assert_eq!(recording.next().await, "- a/n0@4");
    let began = Instant::now();
    server.serve(false);
    assert_eq!(recording.next().await, "? a/n1@3");
    let waited = began.elapsed();
    assert!(
        waited >= Duration::from_secs(5) && waited < Duration::from_secs(12),
        "{waited:?}"
    );
    assert!(informer.lister().is_empty());
    assert!(informer.has_synced() && !informer.is_stopped());
    assert_eq!(informer.resource_version(), Some(ResourceVersion::from(4)));
    sleep(10 * LONG).await;
    assert!(recording.now().is_empty(), "recording once");
    let mut texts = Vec::new();
    while let Ok(error) = errors.try_recv() {
        assert!(error.is_not_served(), "{error}");
        texts.push(error.to_string());
    }
    let emptied = texts.iter().filter(|text| text.contains("clearing the cache"));
    assert_eq!(emptied.count(), 1, "{texts:?}");

    server.put("a/n2", "");
    server.serve(true);
    let mut back = recording.some(2).await;
    back.sort();
    assert_eq!(back, ["+ a/n1@3", "+ a/n2@5"]);
    assert_eq!(informer.resource_version(), Some(ResourceVersion::from(5)));
    informer.shutdown().await;
    check_final_state(&all.rest().await, &informer);
}

#[tokio::test(start_paused = true)]
async fn a_short_absence_of_a_kind_loses_nothing() {
    let server = Server::with(&["a/n0"]);
    let informer = server.informer();
    let (handler, mut recording) = recorder();
    informer.add_handler(handler).unwrap();
    informer.start().unwrap();
    recording.some(1).await;
    for _ in 0..20 {
        sleep(LONG).await;
        server.serve(false);
        sleep(Duration::from_secs(4)).await;
        server.serve(true);
    }
    sleep(LONG).await;
    assert!(recording.now().is_empty());
    server.put("a/n1", "");
    assert_eq!(recording.next().await, "+ a/n1@3");
    informer.shutdown().await;
}

/// Contract 9.
#[tokio::test(start_paused = true)]
async fn contract_9_a_missing_kind_is_requested_rarely() {
    let server = without_the_kind(&[]);
    let informer = server.informer();
    informer.start().unwrap();
    sleep(Duration::from_secs(60 * 60)).await;
    let never_there = server.questions();
    assert!((60..=130).contains(&never_there), "{never_there}");
    server.serve(true);
    informer.wait_for_sync(LONG).await.unwrap();
    sleep(LONG).await;

    let before = server.questions();
    server.serve(false);
    sleep(Duration::from_secs(60 * 60)).await;
    let gone = server.questions() - before;
    assert!((60..=140).contains(&gone), "{gone}");
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_repeated_error_is_logged_once() {
    let log = Log::default();
    // A second subscriber prevents tracing from caching the result of another test's thread for this one.
    let _second = tracing::Dispatch::new(Log::default());
    let _logging = subscribe(log.clone());
    let server = without_the_kind(&["a/n0"]);
    let informer = server.informer();
    informer.start().unwrap();
    sleep(10 * LONG).await;
    let lines = log.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("does not serve"), "{lines:?}");

    server.serve(true);
    informer.wait_for_sync(LONG).await.unwrap();
    sleep(LONG).await;
    server.serve(false);
    sleep(10 * LONG).await;
    let lines = log.lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[1].contains("does not serve"), "{lines:?}");
    assert!(lines[2].contains("no longer serves"), "{lines:?}");
    informer.shutdown().await;
}

/// Contract 1: the server removed the objects at a version that it does not report. Until the next list, an
/// emptied cache has the last version before, so there is nothing to compare.
#[tokio::test(start_paused = true)]
async fn contract_1_an_emptied_cache_is_not_compared_with_the_server() {
    let server = Server::with(&["a/n0", "a/n1"]);
    let (informer, mut errors) = with_errors(server.builder().check_consistency(LONG));
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    let found = informer.check_consistency().await.unwrap();
    assert!(found.is_consistent(), "{found}");

    server.serve(false);
    sleep(Duration::from_secs(20 * 60)).await;
    assert!(informer.lister().is_empty());
    server.serve(true);
    let error = informer.check_consistency().await.unwrap_err();
    assert!(error.is_not_checked() && error.is_not_served(), "{error}");

    sleep(LONG).await;
    assert_eq!(informer.lister().len(), 2);
    let found = informer.check_consistency().await.unwrap();
    assert!(found.is_consistent(), "{found}");
    informer.shutdown().await;
    assert_eq!(informer.status().inconsistencies, 0);
    while let Ok(error) = errors.try_recv() {
        assert!(!error.is_not_checked(), "{error}");
    }
}
