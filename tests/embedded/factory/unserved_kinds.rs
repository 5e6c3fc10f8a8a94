//! Custom resources whose definition is missing: the number of requests, and wrong 404 responses.

use std::time::Duration;

use kube_embedded::{Fault, On};
use tokio::time::sleep;

use crate::informers::{PATIENCE, started, stopped};
use crate::widgets::Widgets;

/// With the default backoff and in virtual time: a few requests, then one or two per minute.
#[tokio::test(start_paused = true)]
async fn removed_kind_is_requested_rarely() {
    let mut widgets = Widgets::paused().await;
    widgets.informer.start().expect("a start");
    sleep(Duration::from_hours(1)).await;
    let asked = widgets.asked.take();
    assert!((60..=130).contains(&asked.len()), "{} requests", asked.len());
    widgets.define().await;
    widgets.informer.wait_for_sync(PATIENCE).await.expect("a sync");
    widgets.make("a").await;
    assert_eq!(widgets.received.word().await, "+a");
    sleep(Duration::from_mins(10)).await;

    widgets.asked.take();
    widgets.undefine().await;
    widgets.complaint("clearing the cache").await;
    let asked = widgets.asked.take();
    assert!(asked.len() <= 13, "{} requests: {asked:#?}", asked.len());
    sleep(Duration::from_hours(1)).await;
    let asked = widgets.asked.take();
    assert!((60..=130).contains(&asked.len()), "{} requests", asked.len());
    assert!(
        asked.iter().all(|path| path.contains("/widgets")),
        "a removed kind needs no discovery: {asked:?}"
    );
    stopped(&widgets.informer).await;
}

/// Contract 5: a misconfigured proxy responds to all requests with 404, or to all but discovery. No object is
/// deleted.
#[tokio::test(start_paused = true)]
async fn not_found_from_a_proxy_keeps_the_cache() {
    let everything = On::any();
    let collections = On::list_or_watch("widgets");
    let documents = On::any().when(|request| request.path == "/apis");
    for faults in [
        vec![everything],
        vec![collections.clone()],
        vec![collections, documents],
    ] {
        let mut widgets = Widgets::paused().await;
        widgets.define().await;
        widgets.make("a").await;
        started(&widgets.informer).await;
        assert_eq!(widgets.received.word().await, "*a");
        let server = widgets.server.embedded().expect("the embedded server");

        for on in &faults {
            server.faults().add(on.clone(), Fault::not_found());
        }
        server.cut_connections();
        widgets.asked.take();
        sleep(Duration::from_hours(1)).await;
        let asked = widgets.asked.take().len();
        assert!((80..=350).contains(&asked), "{faults:?}: {asked} requests");
        assert_eq!(widgets.informer.lister().len(), 1, "{faults:?}");
        assert!(widgets.received.rest().is_empty(), "{faults:?}");

        server.faults().clear();
        widgets.make("b").await;
        assert_eq!(widgets.received.word().await, "+b");
        let told = widgets.take_errors();
        assert!(told.len() > 50, "{faults:?}: {} errors", told.len());
        let misled = told.iter().find(|error| error.is_not_served());
        assert!(misled.is_none(), "{faults:?}: {misled:?}");
        stopped(&widgets.informer).await;
    }
}
