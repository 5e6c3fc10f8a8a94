//! Tests of the informer's measurements.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    CacheFormat, Error, Event, HandlerOptions, SharedInformer,
    source::{ListRequest, ListStream, ListWatch, WatchRequest, WatchStream},
    status::Status,
};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::Level;

use crate::logged::{Spans, subscribe};
use crate::recording::{LONG, recorder};
use crate::scripted::Server;

const SECOND: Duration = Duration::from_secs(1);

async fn synced(server: &Server) -> SharedInformer<k8s_openapi::api::core::v1::ConfigMap> {
    let informer = server.informer();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    informer
}

#[tokio::test(start_paused = true)]
async fn the_status_contains_the_durations_of_the_watch_and_of_silence() {
    let server = Server::with(&["a/x"]);
    let informer = server.informer();
    let before = informer.status();
    assert_eq!(
        (before.watched_for, before.silent_for, before.synced_after),
        (None, None, None)
    );

    server.answer_lists(false);
    informer.start().unwrap();
    sleep(3 * SECOND).await;
    assert_eq!(informer.status().watched_for, None);
    server.answer_lists(true);
    informer.wait_for_sync(LONG).await.unwrap();
    sleep(5 * SECOND).await;
    let status = informer.status();
    assert_eq!(status.synced_after, Some(3 * SECOND));
    assert_eq!(
        (status.watched_for, status.silent_for),
        (Some(5 * SECOND), Some(5 * SECOND))
    );

    let version = server.bookmark();
    informer.wait_for_version(version, LONG).await.unwrap();
    sleep(2 * SECOND).await;
    let status = informer.status();
    assert_eq!(status.watched_for, Some(7 * SECOND));
    assert_eq!(status.silent_for, Some(2 * SECOND), "a bookmark ends the silence");

    informer.shutdown().await;
    assert_eq!(informer.status().watched_for, None, "no watch is open any more");
}

#[tokio::test(start_paused = true)]
async fn relists_are_counted_by_their_cause() {
    let server = Server::with(&["a/x"]);
    let informer = synced(&server).await;
    assert_eq!(
        informer.status().relists.total(),
        0,
        "the first list is not a relist"
    );
    server.expire();
    let version = server.put("a/y", "");
    informer.wait_for_version(version, LONG).await.unwrap();
    let relists = informer.status().relists;
    assert_eq!((relists.expired, relists.total()), (1, 1));
    server.restore(2, &["a/x"]);
    while informer.status().went_back == 0 {
        sleep(SECOND).await;
    }
    assert_eq!(informer.status().relists.total(), 2);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_status_contains_the_time_of_the_next_attempt() {
    let server = Server::new();
    server.fail_lists(Some(kube_informer::Error::status(
        kube_informer::error::StatusError {
            code: 500,
            ..kube_informer::error::StatusError::default()
        },
    )));
    let informer = server.informer();
    informer.start().unwrap();
    sleep(Duration::from_millis(100)).await;
    let status = informer.status();
    let next = status.next_attempt_in.expect("it waits after a failure");
    assert!(next > Duration::from_millis(600) && next < 2 * SECOND, "{next:?}");
    assert_eq!(status.last_error_ago, Some(Duration::from_millis(100)));
    server.fail_lists(None);
    informer.wait_for_sync(LONG).await.unwrap();
    assert_eq!(informer.status().next_attempt_in, None);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn received_objects_and_their_changes_are_counted() {
    for form in [CacheFormat::Decoded, CacheFormat::Packed] {
        let server = Server::with(&["a/x", "a/y"]);
        let informer = server.builder().cache_format(form).build();
        informer.start().unwrap();
        informer.wait_for_sync(LONG).await.unwrap();
        server.put("a/x", "a text that makes it longer");
        let version = server.delete("a/y");
        informer.wait_for_version(version, LONG).await.unwrap();

        let status = informer.status();
        let counts = |status: &Status| (status.added, status.updated, status.deleted);
        assert_eq!(counts(&status), (2, 1, 1));
        assert_eq!((status.received_objects, status.decoded_objects), (4, 4));
        assert!(status.received_bytes > 0 && status.bytes > 0, "{form:?}");
        assert!(status.processing.count >= 2);

        // A list of cached objects is received and not decoded.
        server.expire();
        let version = server.bookmark();
        informer.wait_for_version(version, LONG).await.unwrap();
        let status = informer.status();
        assert_eq!(
            (status.received_objects, status.decoded_objects),
            (5, 4),
            "{form:?}"
        );

        server.delete("a/x");
        let version = server.bookmark();
        informer.wait_for_version(version, LONG).await.unwrap();
        assert_eq!(informer.status().objects, 0);
        informer.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_status_contains_the_duration_of_a_stuck_call() {
    let server = Server::with(&["a/x"]);
    let informer = server.informer();
    let go_on = Arc::new(Notify::new());
    let gate = Arc::clone(&go_on);
    let stuck = informer
        .add_async_handler(move |_: Event<_>| {
            let gate = Arc::clone(&gate);
            async move { gate.notified().await }
        })
        .unwrap();
    assert_eq!(stuck.running_for(), None);
    informer.start().unwrap();
    sleep(7 * SECOND).await;
    assert_eq!(stuck.running_for(), Some(7 * SECOND));
    assert_eq!((stuck.delivered(), stuck.calls().count), (1, 0));

    server.put("a/y", "");
    sleep(3 * SECOND).await;
    assert_eq!(stuck.backlog(), 1);
    go_on.notify_one();
    sleep(SECOND).await;
    assert_eq!(stuck.calls().sum, 10 * SECOND);
    assert_eq!(stuck.running_for(), Some(SECOND), "the next call is running");
    let waits = stuck.waits();
    assert_eq!(
        (waits.count, waits.sum),
        (1, 3 * SECOND),
        "the waiting time of the change"
    );
    go_on.notify_one();
    sleep(SECOND).await;
    assert_eq!((stuck.running_for(), stuck.calls().count), (None, 2));
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn handlers_of_all_kinds_are_timed_and_streams_are_counted() {
    let server = Server::with(&["a/x", "a/y", "a/z"]);
    let informer = server.informer();
    let (record, mut recording) = recorder();
    let may_block = informer.add_handler(record).unwrap();
    let never_blocks = HandlerOptions::new().never_blocks();
    let inline = informer.add_handler_with(|_: Event<_>| {}, never_blocks).unwrap();
    let panicking = informer
        .add_handler_with(
            |_: Event<_>| panic!("on purpose"),
            HandlerOptions::new().never_blocks(),
        )
        .unwrap();
    let mut events = informer.events().unwrap();
    informer.start().unwrap();
    recording.some(3).await;
    for _ in 0..3 {
        futures::StreamExt::next(&mut events).await;
    }
    informer.shutdown().await;
    for handler in [&may_block, &inline, &panicking] {
        assert_eq!(
            (handler.delivered(), handler.calls().count),
            (3, 3),
            "{handler:?}"
        );
        assert_eq!(handler.running_for(), None);
    }
    let stream = events.registration();
    assert_eq!((stream.delivered(), stream.calls().count), (3, 0));
}

/// A change that is cancelled out does not keep the measurement waiting.
#[tokio::test(start_paused = true)]
async fn a_cancelled_change_does_not_stop_the_measurement() {
    let server = Server::new();
    let informer = synced(&server).await;
    let mut events = informer.events().unwrap();
    let place = events.registration();
    server.put("a/x", "");
    let version = server.delete("a/x");
    informer.wait_for_version(version, LONG).await.unwrap();
    assert!(futures::FutureExt::now_or_never(futures::StreamExt::next(&mut events)).is_none());
    server.put("a/y", "");
    futures::StreamExt::next(&mut events).await;
    assert_eq!(place.waits().count, 1);
    informer.shutdown().await;
}

/// A server that records the innermost span of each request.
struct Traced {
    server: Server,
    spans: Spans,
    recorded: Arc<Mutex<Vec<String>>>,
}

impl Traced {
    fn note(&self, what: &str) {
        self.recorded
            .lock()
            .push(format!("{what}: {}", self.spans.current()));
    }
}

impl ListWatch<ConfigMap> for Traced {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<ConfigMap>, Error>> {
        self.note("list");
        self.server.list(request)
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<ConfigMap>, Error>> {
        self.note("watch");
        let (spans, recorded) = (self.spans.clone(), Arc::clone(&self.recorded));
        async move {
            let events = self.server.watch(request).await?;
            let note = move |_: &_| recorded.lock().push(format!("event: {}", spans.current()));
            Ok(events.inspect(note).boxed())
        }
        .boxed()
    }

    fn is_served(&self) -> BoxFuture<'_, Result<bool, Error>> {
        self.note("discovery");
        self.server.is_served()
    }
}

/// Each request has its own span, which includes the events of the watch and nothing after them.
#[tokio::test(start_paused = true)]
async fn lists_and_watches_have_spans_and_discovery_has_none() {
    let spans = Spans::of(Level::DEBUG);
    let _here = subscribe(spans.clone());
    let (server, recorded) = (Server::new(), Arc::<Mutex<Vec<String>>>::default());
    let traced = Traced {
        server: server.clone(),
        spans,
        recorded: Arc::clone(&recorded),
    };
    let informer = SharedInformer::builder_from(traced, ())
        .streaming_list(false)
        .build();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    let version = server.put("a/x", "");
    informer.wait_for_version(version, LONG).await.unwrap();
    server.serve(false);
    sleep(10 * SECOND).await;
    informer.shutdown().await;

    let recorded = recorded.lock();
    assert_eq!(
        recorded.iter().take(5).collect::<Vec<_>>(),
        [
            "list: list at=\"0\"",
            "watch: watch from=\"1\"",
            "event: watch from=\"1\"",
            "watch: watch from=\"2\"",
            "discovery: informer resource=configmaps",
        ]
    );
}

/// A change can be followed by its key and version, from the bytes of the watch to the handler.
#[tokio::test(start_paused = true)]
async fn spans_connect_the_frame_with_the_handler() {
    let spans = Spans::of(Level::TRACE);
    let _here = subscribe(spans.clone());
    let server = Server::new();
    let informer = server.informer();
    let recorded = Arc::<Mutex<Vec<String>>>::default();
    let inside = Arc::clone(&recorded);
    let names = spans.clone();
    informer
        .add_handler_with(
            move |_: Event<_>| inside.lock().push(names.current()),
            HandlerOptions::new().name("cleaner").never_blocks(),
        )
        .unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    let version = server.put("a/x", "");
    informer.wait_for_version(version.clone(), LONG).await.unwrap();
    informer.shutdown().await;

    let all = spans.lines();
    let place = |wanted: &str| {
        let place = all.iter().position(|span| span.contains(wanted));
        place.unwrap_or_else(|| panic!("no {wanted} in {all:#?}"))
    };
    let frame = place(&format!("frame key=a/x version={version}"));
    let store = all
        .iter()
        .rposition(|span| span.starts_with("store "))
        .expect("it was stored");
    let handle = place(&format!(
        "handle handler=cleaner event=\"added\" key=a/x version={version}"
    ));
    assert!(
        place("watch from=\"1\"") < frame && frame < store && store < handle,
        "{all:#?}"
    );
    assert_eq!(
        recorded.lock()[..],
        [all[handle].clone()],
        "the handler runs inside its span"
    );
    place("informer resource=configmaps");
}
