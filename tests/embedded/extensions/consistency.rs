//! Consistency checks that find a difference, or cannot complete.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_embedded::{Fault, On};
use kube_informer::{
    Error,
    source::{WatchRequest, WatchStream},
};
use kube_informer::{
    Key, SharedInformer,
    source::{ApiListWatch, ListRequest, ListStream, ListWatch},
    status::Difference,
};
use tokio::time::{Instant, advance};

use crate::observed_informer::ObservedInformer;

const HOUR: Duration = Duration::from_hours(1);

fn names(differing: &Difference) -> Vec<&str> {
    assert_eq!(differing.count(), differing.keys().len());
    differing.keys().iter().map(Key::name).collect()
}

/// A server omits events, which watches cannot detect.
#[tokio::test(start_paused = true)]
async fn events_lost_by_the_server_are_found() {
    for lost in ["a creation", "a change", "a deletion"] {
        let (server, observed) = ObservedInformer::paused(|informer| informer.streaming_list(false)).await;
        observed.create("a").await;
        observed.create("b").await;
        server.faults().add(On::watch("configmaps"), Fault::LoseEvent(0));
        observed.start().await;
        match lost {
            "a creation" => drop(observed.create("c").await),
            "a change" => drop(observed.change("b", "2").await),
            _ => observed.delete("b").await,
        }
        let seen = observed.change("a", "2").await;
        observed.reach(seen).await;
        let found = observed.informer.check_consistency().await.expect("a comparison");
        let differences = [&found.missing, &found.different, &found.unexpected].map(names);
        let expected: [&[&str]; 3] = match lost {
            "a creation" => [&["c"], &[], &[]],
            "a change" => [&[], &["b"], &[]],
            _ => [&[], &[], &["b"]],
        };
        assert_eq!(differences, expected, "{lost}");
        assert_eq!(observed.informer.status().inconsistencies, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn difference_is_reported_and_counted_but_not_repaired_by_default() {
    let (server, mut observed) =
        ObservedInformer::paused(|informer| informer.streaming_list(false).check_consistency(HOUR)).await;
    observed.create("a").await;
    server.faults().add(On::watch("configmaps"), Fault::LoseEvent(0));
    observed.start().await;
    observed.create("lost").await;
    let seen = observed.change("a", "2").await;
    observed.reach(seen).await;
    let began = Instant::now();
    let error = observed.error_that(Error::is_inconsistent).await;
    assert!(
        (HOUR..HOUR * 2).contains(&began.elapsed()),
        "{:?}",
        began.elapsed()
    );
    let words = error.to_string();
    assert!(words.contains("configmaps"), "{words}");
    assert!(words.contains("1 missing (default/lost)"), "{words}");
    let found = error.consistency().expect("the difference");
    assert_eq!(names(&found.missing), ["lost"]);
    assert!(!observed.cached().iter().any(|name| name.starts_with("lost@")));
    // The check is repeated before it is reported, and reported again only after an hour.
    assert_eq!(observed.informer.status().checks, 2);
    let told = Instant::now();
    observed.error_that(Error::is_inconsistent).await;
    assert!(told.elapsed() >= HOUR);
    observed.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn difference_is_repaired_on_request_and_delivered_to_handlers() {
    for streaming in [true, false] {
        let choose = |informer: kube_informer::InformerBuilder<ConfigMap>| {
            let informer = informer.streaming_list(streaming);
            informer.check_consistency(HOUR).relist_if_inconsistent()
        };
        let (server, mut observed) = ObservedInformer::paused(choose).await;
        observed.create("a").await;
        observed.create("b").await;
        // After the initial events of a stream: two objects and a bookmark.
        let after = if streaming { 3 } else { 0 };
        let rule = server
            .faults()
            .add(On::watch("configmaps"), Fault::LoseEvent(after));
        let mut events = observed.events();
        observed.start().await;
        assert_eq!(events.sorted(2).await, ["+a", "+b"]);
        observed.delete("b").await;
        let seen = observed.change("a", "2").await;
        observed.reach(seen).await;
        assert_eq!(events.next().await, "~a");
        rule.end();
        observed.error_that(Error::is_inconsistent).await;
        assert_eq!(events.next().await, "-b?");
        observed.catches_up().await;
        let found = observed.informer.check_consistency().await.expect("a comparison");
        assert!(found.is_consistent(), "{found}");
        observed.informer.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn compacted_version_is_skipped_without_an_error() {
    let (server, mut observed) =
        ObservedInformer::paused(|informer| informer.streaming_list(false).check_consistency(HOUR)).await;
    observed.create("a").await;
    observed.start().await;
    let forgotten = On::list("configmaps").when(|request| request.param("limit") == Some("500"));
    server.faults().add(forgotten, Fault::expired());
    for _ in 0..5 {
        advance(HOUR * 2).await;
        observed.catches_up().await;
    }
    let error = observed
        .informer
        .check_consistency()
        .await
        .expect_err("no comparison");
    assert!(error.is_not_checked() && error.is_expired(), "{error:?}");
    assert_eq!(observed.errors(), [""; 0]);
    let status = observed.informer.status();
    assert!(status.unchecked >= 3, "{status:?}");
    assert_eq!((status.checks, status.errors), (0, 0));
    observed.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn impossible_check_is_reported_once() {
    let (server, mut observed) =
        ObservedInformer::paused(|informer| informer.streaming_list(false).check_consistency(HOUR)).await;
    observed.start().await;
    let exact = On::list("configmaps").when(|request| request.param("resourceVersionMatch").is_some());
    let rule = server.faults().add(exact, Fault::forbidden());
    let error = observed.error().await;
    assert!(error.is_not_checked() && error.is_forbidden(), "{error:?}");
    while rule.hits() < 5 {
        advance(HOUR).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(observed.errors(), [""; 0]);
    observed.informer.shutdown().await;
}

/// An extension server may ignore the parameter, and return its current state.
#[tokio::test(start_paused = true)]
async fn list_at_another_version_is_not_compared() {
    let (server, observed) = ObservedInformer::paused(|informer| informer.streaming_list(false)).await;
    observed.create("a").await;
    server
        .faults()
        .add(On::watch("configmaps"), Fault::SilenceAfterEvents(0));
    observed.start().await;
    observed.tap.proxy(|asked, request| {
        if asked.parameter("resourceVersionMatch").is_some() {
            let path = request.uri().path().to_owned();
            *request.uri_mut() = path.parse().expect("a path");
        }
        None
    });
    observed.create("b").await;
    let at = observed.informer.resource_version().expect("a version");
    let error = observed
        .informer
        .check_consistency()
        .await
        .expect_err("no comparison");
    assert!(error.is_not_checked(), "{error:?}");
    let words = error.to_string();
    assert!(words.contains(&format!("requested version {at}")), "{words}");
    observed.informer.shutdown().await;
}

/// A source that implements only lists and watches.
struct ListWatchOnly(ApiListWatch<ConfigMap>);

impl ListWatch<ConfigMap> for ListWatchOnly {
    fn list(
        &self,
        request: ListRequest,
    ) -> futures::future::BoxFuture<'_, Result<ListStream<ConfigMap>, Error>> {
        self.0.list(request)
    }

    fn watch(
        &self,
        request: WatchRequest,
    ) -> futures::future::BoxFuture<'_, Result<WatchStream<ConfigMap>, Error>> {
        self.0.watch(request)
    }
}

#[tokio::test(start_paused = true)]
async fn rejected_comparison_reports_why() {
    let (server, observed) = ObservedInformer::paused(|informer| informer).await;
    let error = observed
        .informer
        .check_consistency()
        .await
        .expect_err("no comparison");
    assert!(error.to_string().contains("no list has succeeded yet"), "{error}");
    let source = ApiListWatch::new(server.direct_client(), &(), Some("default"));
    let plain = SharedInformer::builder_from(ListWatchOnly(source), ()).build();
    plain.start().expect("a first start");
    plain.wait_for_sync(HOUR).await.expect("a list");
    let error = plain.check_consistency().await.expect_err("no comparison");
    assert!(error.is_not_checked(), "{error:?}");
    assert!(error.to_string().contains("ListWatch::list_exactly"), "{error}");
    plain.shutdown().await;
    let error = plain.check_consistency().await.expect_err("no comparison");
    assert!(error.is_stopped(), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn stop_ends_a_comparison() {
    let (server, observed) = ObservedInformer::paused(|informer| informer.check_consistency(HOUR)).await;
    observed.start().await;
    let exact = On::list("configmaps").when(|request| request.param("resourceVersionMatch").is_some());
    let rule = server.faults().add(exact, Fault::Delay(HOUR));
    let informer = observed.informer.clone();
    let asked = tokio::spawn(async move { informer.check_consistency().await });
    while rule.hits() == 0 {
        tokio::task::yield_now().await;
    }
    let began = Instant::now();
    observed.informer.shutdown().await;
    let error = asked.await.expect("an end").expect_err("no comparison");
    assert!(error.is_stopped(), "{error:?}");
    assert!(began.elapsed() < HOUR);
}
