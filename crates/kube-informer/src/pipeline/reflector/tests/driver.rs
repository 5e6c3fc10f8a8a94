//! Tests of the driver against a scripted source, in paused time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;

use super::scripted::{
    DriverTest, Script, ScriptStep, added, at, bookmark, deleted, initial_end, item, listed, modified, more,
    object, pause,
};
use super::table::{plain, steady};
use crate::error::{Error, Operation, StatusError};
use crate::pipeline::queue::{CAPACITY, QueueDepth};
use crate::pipeline::reflector::machine::Settings;
use crate::pipeline::reflector::{Delta, Scope};
use crate::pipeline::wire::{ListPart, RawObject, WatchEvent};

fn streaming() -> Settings {
    steady()
}

const SOON: Duration = Duration::from_millis(500);

fn failure(code: u16, reason: &str) -> StatusError {
    StatusError {
        code,
        reason: reason.to_owned(),
        ..StatusError::default()
    }
}

fn status(code: u16) -> Error {
    Error::status(failure(code, ""))
}

#[tokio::test(start_paused = true)]
async fn initial_events_become_one_replacement_and_the_stream_continues() {
    let script = Script::new().sends(vec![
        added("a@1"),
        added("b@2"),
        added("c@3"),
        modified("a@7"),
        deleted("b@8"),
        added("d@9"),
        deleted("d@10"),
        added("d@11"),
        initial_end("12"),
        added("e@13"),
        modified("a@14"),
        deleted("c@15"),
        bookmark("20"),
        ScriptStep::Silence,
    ]);
    let stage = DriverTest::with(streaming(), script);
    stage.run_for(SOON).await;
    assert_eq!(
        stage.deltas().await,
        [
            "replaced at 12: a@7 c@3 d@11",
            "upsert e@13",
            "upsert a@14",
            "deleted c@15",
            "bookmark 20",
        ]
    );
    assert_eq!(stage.requests(), ["0s stream newest"]);
    assert_eq!(stage.counted(), [Operation::StreamingList]);
    assert!(stage.reports().is_empty());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_delivered_before_the_bookmark_that_ends_the_initial_events() {
    let script = Script::new().sends(vec![
        added("a@1"),
        bookmark("5"),
        modified("a@2"),
        ScriptStep::Silence,
    ]);
    let stage = DriverTest::with(streaming(), script);
    stage.run_for(Duration::from_secs(9)).await;
    assert!(stage.deltas().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn pages_become_one_replacement_followed_by_a_watch() {
    let script = Script::new()
        .lists(&["a@1", "b@2"], more("10", "t1"))
        .lists(&["c@3"], more("10", "t2"))
        .lists(&["d@4"], at("10"))
        .sends(vec![added("e@11"), ScriptStep::Silence]);
    let stage = DriverTest::with(plain(), script);
    stage.run_for(SOON).await;
    assert_eq!(
        stage.deltas().await,
        ["replaced at 10: a@1 b@2 c@3 d@4", "upsert e@11"]
    );
    assert_eq!(
        stage.requests(),
        [
            "0s list 0 by 500",
            "0s page t1 by 500",
            "0s page t2 by 500",
            "0s watch 10"
        ]
    );
    assert_eq!(
        stage.counted(),
        [
            Operation::List,
            Operation::List,
            Operation::List,
            Operation::Watch
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_restart_replaces_a_watch_and_lists_the_most_recent_version() {
    for (settings, expected) in [
        (plain(), "0s list newest by 500"),
        (streaming(), "0s stream newest"),
    ] {
        let script = Script::new();
        let script = if settings.streaming {
            script
                .sends(vec![
                    added("a@1"),
                    initial_end("10"),
                    added("b@11"),
                    ScriptStep::Silence,
                ])
                .sends(vec![added("a@1"), initial_end("11"), ScriptStep::Silence])
        } else {
            script
                .lists(&["a@1"], at("10"))
                .sends(vec![added("b@11"), ScriptStep::Silence])
                .lists(&["a@1"], at("11"))
        };
        let stage = DriverTest::with(settings, script);
        let restart = async {
            while stage
                .deltas()
                .await
                .last()
                .is_none_or(|delta| delta != "upsert b@11")
            {
                tokio::task::yield_now().await;
            }
            stage.start_over.notify_one();
        };
        futures::join!(stage.run_for(SOON), restart);
        assert_eq!(stage.deltas().await, ["replaced at 11: a@1"]);
        let requests = stage.requests();
        assert!(
            requests.iter().skip(1).any(|request| request == expected),
            "{requests:?}"
        );
        assert!(stage.reports().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_does_not_shorten_a_wait() {
    let script = Script::new()
        .lists(&["a@1"], at("10"))
        .fails(status(500))
        .fails(status(500))
        .sends(vec![ScriptStep::Silence])
        .lists(&["a@1"], at("10"));
    let stage = DriverTest::with(plain(), script);
    let driver = tokio::spawn(stage.drive());
    tokio::time::sleep(Duration::from_millis(100)).await;
    stage.start_over.notify_one();
    tokio::time::sleep(Duration::from_secs(5)).await;
    driver.abort();
    let requests = stage.requests();
    let list = requests
        .iter()
        .find(|request| request.ends_with("list newest by 500"));
    assert!(list.is_some_and(|list| !list.starts_with("0s ")), "{requests:?}");
    assert_eq!(stage.reports().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_restart_requested_before_a_list_causes_no_second_list() {
    let script = Script::new()
        .lists(&["a@1"], at("10"))
        .sends(vec![ScriptStep::Silence]);
    let stage = DriverTest::with(plain(), script);
    stage.start_over.notify_one();
    stage.run_for(Duration::from_secs(5)).await;
    assert_eq!(stage.requests(), ["0s list 0 by 500", "0s watch 10"]);
}

#[tokio::test(start_paused = true)]
async fn contract_10_a_rejected_list_is_dropped_before_the_next_one() {
    let script = Script::new()
        .lists(&["a@1"], more("10", "t1"))
        .lists(&["b@2"], more("10", "t1"));
    let stage = DriverTest::with(plain(), script);
    let driver = tokio::spawn(stage.drive());
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(stage.reports()[0].contains("duplicate continue token"));
    assert_eq!(stage.entries(), 0);
    driver.abort();
}

/// The queue is full while the cache is being emptied, which a restart must not cancel.
#[tokio::test(start_paused = true)]
async fn a_restart_waits_until_the_pending_delta_is_in_the_queue() {
    let gone = || Error::status(failure(404, "NotFound"));
    let script = Script::new()
        .sends(vec![added("a@1"), initial_end("10"), ScriptStep::Error(gone())])
        .discovers(false)
        .fails(gone())
        .discovers(false)
        .fails(gone())
        .discovers(false)
        .fails(gone())
        .discovers(false);
    let stage = DriverTest::with(streaming(), script);
    let driver = tokio::spawn(stage.drive());
    tokio::time::sleep(SOON).await;
    assert_eq!(QueueDepth::of(&stage.queue).get(), 1, "the first list");
    while QueueDepth::of(&stage.queue).get() < CAPACITY {
        stage
            .queue
            .send(Delta::Bookmark("10".into(), Scope::ONLY))
            .await
            .unwrap();
    }
    tokio::time::sleep(Duration::from_mins(1)).await;
    stage.start_over.notify_one();
    tokio::time::sleep(Duration::from_mins(1)).await;
    let mut deltas = stage.deltas().await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    deltas.extend(stage.deltas().await);
    deltas.retain(|delta| !delta.starts_with("bookmark"));
    assert_eq!(deltas, ["replaced at 10: a@1", "kind removed after 10"]);
    driver.abort();
}

/// A server or proxy that confuses namespaces must not change objects of another reflector.
#[tokio::test(start_paused = true)]
async fn an_object_of_another_namespace_is_invalid_data() {
    let foreign = || {
        let mut foreign = object("b@11");
        foreign.metadata.namespace = Some("other".to_owned());
        RawObject::decoded(foreign).expect("it has a name and a version")
    };
    let script = Script::new()
        .lists_parts(vec![listed("a@1"), ScriptStep::Part(ListPart::Object(foreign()))])
        .lists(&["a@1"], at("10"))
        .sends(vec![
            ScriptStep::Part(WatchEvent::Added(foreign())),
            added("c@12"),
        ])
        .lists(&["a@1"], at("13"))
        .sends(vec![
            ScriptStep::Part(WatchEvent::Deleted(foreign())),
            added("c@12"),
        ])
        .lists(&["a@1"], at("14"));
    let stage = DriverTest::with(plain(), script);
    stage.run_for(Duration::from_secs(20)).await;
    assert_eq!(
        stage.deltas().await,
        [
            "replaced at 10: a@1",
            "replaced at 13: a@1",
            "replaced at 14: a@1"
        ]
    );
    let reports = stage.reports();
    assert_eq!(reports.len(), 3, "{reports:?}");
    for report in reports {
        assert!(
            report.contains("unexpected object other/b: expected namespace \"default\""),
            "{report}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_objects_of_a_failed_list_are_freed_before_the_wait() {
    let parts = || {
        vec![
            listed("a@1"),
            listed("b@2"),
            pause(5),
            ScriptStep::Error(Error::bad_data("rubbish")),
        ]
    };
    let events = || {
        vec![
            added("a@1"),
            added("b@2"),
            pause(5),
            ScriptStep::Error(Error::bad_data("rubbish")),
        ]
    };
    let lists = DriverTest::with(plain(), Script::new().lists_parts(parts()));
    // A failed stream is followed by a list, which fails without a delay.
    let streams = DriverTest::with(streaming(), Script::new().sends(events()).fails(status(500)));
    for stage in [lists, streams] {
        let driver = tokio::spawn(stage.drive());
        tokio::time::sleep(SOON).await;
        assert_eq!(stage.entries(), 2);
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(stage.entries(), 0, "{:?}", stage.requests());
        driver.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_is_complete() {
    let script = Script::new().lists(&[], at("10"));
    let stage = DriverTest::with(plain(), script);
    stage.run_for(SOON).await;
    assert_eq!(stage.deltas().await, ["replaced at 10: "]);
}

#[tokio::test(start_paused = true)]
async fn objects_before_an_expired_page_are_dropped() {
    let script = Script::new()
        .lists(&["old@1", "b@2"], more("10", "t1"))
        .fails(Error::status(failure(410, "Expired")))
        .lists(&["b@2", "c@12"], at("12"));
    let stage = DriverTest::with(plain(), script);
    stage.run_for(SOON).await;
    assert_eq!(stage.deltas().await, ["replaced at 12: b@2 c@12"]);
    assert_eq!(
        stage.requests(),
        [
            "0s list 0 by 500",
            "0s page t1 by 500",
            "0s list 0",
            "0s watch 12"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn objects_of_a_failed_stream_are_dropped() {
    let script = Script::new()
        .sends(vec![added("ghost@1")])
        .lists(&["a@9"], at("10"));
    let stage = DriverTest::with(streaming(), script);
    stage.run_for(SOON).await;
    assert_eq!(stage.deltas().await, ["replaced at 10: a@9"]);
    assert_eq!(
        stage.reports(),
        [
            "listing configmaps in namespace default as a stream: stream closed before the end of the initial events: \
                     falling back to a plain list"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn objects_of_a_rejected_older_stream_are_dropped() {
    let script = Script::new()
        .sends(vec![
            initial_end("20"),
            ScriptStep::Error(Error::bad_data("rubbish")),
        ])
        .sends(vec![added("ghost@1"), initial_end("15")])
        .sends(vec![added("ghost@2"), initial_end("15")])
        .sends(vec![added("a@14"), initial_end("15"), ScriptStep::Silence]);
    let stage = DriverTest::with(streaming(), script);
    stage.run_for(Duration::from_secs(5)).await;
    assert_eq!(stage.deltas().await, ["replaced at 20: ", "replaced at 15: a@14"]);
    assert_eq!(
        stage.requests(),
        [
            "0s stream newest",
            "0s stream 20",
            "0s stream newest",
            "0s stream newest"
        ]
    );
    assert_eq!(stage.reports().len(), 3, "{:?}", stage.reports());
}

#[tokio::test(start_paused = true)]
async fn invalid_data_in_a_list_fails_the_whole_list() {
    let script = Script::new()
        .lists_parts(vec![
            listed("a@1"),
            ScriptStep::Error(Error::bad_data("invalid object b: unexpected type")),
            listed("c@1"),
        ])
        .lists(&["a@1", "b@2"], at("10"));
    let stage = DriverTest::with(plain(), script);
    stage.run_for(Duration::from_secs(2)).await;
    assert_eq!(
        stage.reports(),
        ["listing configmaps in namespace default: invalid response: invalid object b: unexpected type"]
    );
    assert_eq!(stage.deltas().await, ["replaced at 10: a@1 b@2"]);
}

#[tokio::test(start_paused = true)]
async fn invalid_data_in_a_later_page_fails_the_whole_list() {
    let script = Script::new()
        .lists(&["a@1"], more("10", "t1"))
        .lists_parts(vec![ScriptStep::Error(Error::bad_data("rubbish"))])
        .lists(&["z@2"], at("10"));
    let stage = DriverTest::with(plain(), script);
    stage.run_for(Duration::from_secs(2)).await;
    assert_eq!(stage.deltas().await, ["replaced at 10: z@2"]);
}

#[tokio::test(start_paused = true)]
async fn an_incomplete_list_fails() {
    let script = Script::new()
        .lists_parts(vec![listed("a@1")])
        .lists(&["a@1"], at("10"));
    let stage = DriverTest::with(plain(), script);
    stage.run_for(Duration::from_secs(2)).await;
    assert_eq!(stage.deltas().await, ["replaced at 10: a@1"]);
    assert!(
        stage.reports()[0].ends_with("incomplete list"),
        "{:?}",
        stage.reports()
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_data_ends_a_watch_after_the_events_before_it() {
    let script = Script::new()
        .lists(&["a@1"], at("10"))
        .sends(vec![
            added("b@11"),
            ScriptStep::Error(Error::bad_data("rubbish")),
            added("never@12"),
        ])
        .lists(&["a@1", "b@11", "c@12"], at("12"));
    let stage = DriverTest::with(plain(), script);
    stage.run_for(Duration::from_secs(2)).await;
    assert_eq!(
        stage.deltas().await,
        [
            "replaced at 10: a@1",
            "upsert b@11",
            "replaced at 12: a@1 b@11 c@12"
        ]
    );
    assert_eq!(
        stage.requests(),
        ["0s list 0 by 500", "0s watch 10", "0s list 11", "0s watch 12"]
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_data_among_initial_events_applies_none_of_them() {
    let script = Script::new()
        .sends(vec![added("a@1"), ScriptStep::Error(Error::bad_data("rubbish"))])
        .lists(&["z@2"], at("10"));
    let stage = DriverTest::with(streaming(), script);
    stage.run_for(SOON).await;
    assert_eq!(stage.deltas().await, ["replaced at 10: z@2"]);
    assert_eq!(
        stage.reports(),
        ["listing configmaps in namespace default as a stream: invalid response: rubbish"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_with_a_lost_connection_resumes_from_the_last_event() {
    let eof = Error::transport(
        "connection lost while reading a watch event",
        std::io::Error::from(std::io::ErrorKind::UnexpectedEof),
    );
    let script = Script::new()
        .lists(&[], at("10"))
        .sends(vec![added("a@11"), ScriptStep::Error(eof)])
        .sends(vec![added("b@12"), ScriptStep::Silence]);
    let stage = DriverTest::with(plain(), script);
    stage.run_for(Duration::from_secs(2)).await;
    assert_eq!(
        stage.requests(),
        ["0s list 0 by 500", "0s watch 10", "0s watch 11"]
    );
    assert_eq!(
        stage.deltas().await,
        ["replaced at 10: ", "upsert a@11", "upsert b@12"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_error_event_is_reported_and_ends_the_watch() {
    let read_error = StatusError {
        message: "an object cannot be read".to_owned(),
        ..failure(500, "StorageReadError")
    };
    let script = Script::new()
        .lists(&["a@1", "b@2"], at("10"))
        .sends(vec![
            ScriptStep::Part(WatchEvent::Failure(read_error)),
            added("never@12"),
        ])
        .lists(&["b@2"], at("14"));
    let stage = DriverTest::with(plain(), script);
    stage.run_for(Duration::from_secs(2)).await;
    assert_eq!(
        stage.deltas().await,
        ["replaced at 10: a@1 b@2", "replaced at 14: b@2"]
    );
    assert_eq!(
        stage.reports(),
        [
            "watching configmaps in namespace default: server returned 500 StorageReadError: an object cannot \
          be read"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn throttled_watches_do_not_relist() {
    let mut script = Script::new().lists(&[], at("10"));
    for _ in 0..2 {
        script = script
            .fails(status(429))
            .sends(vec![ScriptStep::Part(WatchEvent::Failure(failure(
                429,
                "TooManyRequests",
            )))]);
    }
    let stage = DriverTest::with(plain(), script.sends(vec![ScriptStep::Silence]));
    stage.run_for(Duration::from_mins(1)).await;
    assert_eq!(
        stage.requests(),
        [
            "0s list 0 by 500",
            "0s watch 10",
            "0s watch 10",
            "2s watch 10",
            "5s watch 10",
            "12s watch 10"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn versions_expire_while_listing_and_watching() {
    let script = Script::new()
        .lists(&["a@1"], at("10"))
        .fails(Error::status(failure(410, "Gone")))
        .fails(Error::status(failure(410, "Expired")))
        .lists(&["b@30"], at("30"));
    let stage = DriverTest::with(plain(), script);
    stage.run_for(Duration::from_secs(2)).await;
    assert_eq!(
        stage.requests(),
        [
            "0s list 0 by 500",
            "0s watch 10",
            "0s list 10",
            "0s list newest by 500",
            "0s watch 30"
        ]
    );
    assert_eq!(
        stage.deltas().await,
        ["replaced at 10: a@1", "replaced at 30: b@30"]
    );
    assert_eq!(
        stage.reports(),
        [
            "watching configmaps in namespace default: server returned 410 Gone",
            "listing configmaps in namespace default: server returned 410 Expired",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_that_stops_midway_times_out_after_a_minute() {
    let script = Script::new()
        .lists_parts(vec![listed("a@1"), pause(59), listed("b@2"), ScriptStep::Silence])
        .lists(&["c@3"], at("10"));
    let stage = DriverTest::with(plain(), script);
    stage.run_for(Duration::from_mins(3)).await;
    assert_eq!(
        stage.requests(),
        [
            "0s list 0 by 500",
            "119s list 0 by 500",
            "119s watch 10",
            "151s watch 10"
        ]
    );
    assert_eq!(stage.deltas().await, ["replaced at 10: c@3"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_without_a_response_times_out_after_a_minute() {
    let stage = DriverTest::with(plain(), Script::new().never_answers().lists(&["c@3"], at("10")));
    stage.run_for(Duration::from_secs(80)).await;
    assert_eq!(
        stage.requests(),
        ["0s list 0 by 500", "60s list 0 by 500", "60s watch 10"]
    );
    assert_eq!(
        stage.reports(),
        ["listing configmaps in namespace default: timeout: no response from the server"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_large_list_may_take_long_while_data_arrives() {
    let arriving = || [pause(50), ScriptStep::Part(ListPart::Progress)];
    let end = ScriptStep::Part(ListPart::End {
        version: "10".into(),
        continue_token: None,
    });
    let parts = (0..20).flat_map(|_| arriving()).chain([listed("a@1"), end]);
    let stage = DriverTest::with(plain(), Script::new().lists_parts(parts.collect()));
    stage.run_for(Duration::from_secs(1_001)).await;
    assert_eq!(stage.requests(), ["0s list 0 by 500", "1000s watch 10"]);
    assert_eq!(stage.deltas().await, ["replaced at 10: a@1"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_a_response_is_requested_again() {
    let script = Script::new()
        .lists(&[], at("10"))
        .never_answers()
        .sends(vec![added("a@11"), ScriptStep::Silence]);
    let stage = DriverTest::with(plain(), script);
    stage.run_for(Duration::from_secs(40)).await;
    assert_eq!(
        stage.requests(),
        ["0s list 0 by 500", "0s watch 10", "30s watch 10"]
    );
    assert_eq!(stage.deltas().await, ["replaced at 10: ", "upsert a@11"]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_closed_and_renewed() {
    let script = Script::new()
        .sends(vec![
            initial_end("10"),
            bookmark("10"),
            pause(100),
            added("a@11"),
            ScriptStep::Silence,
        ])
        .sends(vec![added("b@12"), ScriptStep::Silence]);
    let stage = DriverTest::with(streaming(), script);
    stage.run_for(Duration::from_secs(320)).await;
    assert_eq!(stage.requests(), ["0s stream newest", "310s watch 11"]);
    assert_eq!(
        stage.reports(),
        ["watching configmaps in namespace default: no data for 210s: reopening the watch"]
    );
    assert_eq!(
        stage.deltas().await,
        ["replaced at 10: ", "upsert a@11", "upsert b@12"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_without_its_bookmark_does_not_hang() {
    let endless = (0..200).flat_map(|_| [added("a@1"), pause(5)]).collect();
    let script = Script::new().sends(endless).lists(&["a@1"], at("10"));
    let stage = DriverTest::with(streaming(), script);
    stage.run_for(Duration::from_secs(301)).await;
    assert_eq!(
        stage.requests(),
        ["0s stream newest", "300s list 0 by 500", "300s watch 10"]
    );
    assert_eq!(stage.deltas().await, ["replaced at 10: a@1"]);
}

/// Cancels the driver after some time and checks that it releases everything.
async fn ends_when_cancelled(settings: Settings, script: Script, after: Duration) -> DriverTest {
    let stage = DriverTest::with(settings, script);
    let driver = tokio::spawn(stage.drive());
    tokio::time::sleep(after).await;
    assert!(!driver.is_finished());
    let before = tokio::time::Instant::now();
    stage.stop.cancel();
    driver.await.expect("the driver does not panic");
    assert_eq!(before.elapsed(), Duration::ZERO, "it ends at once");
    assert_eq!(stage.script.open(), 0, "every response was dropped");
    let failures = stage.reports().into_iter().filter(|text| !text.contains("503"));
    assert_eq!(failures.count(), 0, "a stop is not an error");
    stage
}

#[tokio::test(start_paused = true)]
async fn contract_11_cancelled_before_the_start_it_sends_no_request() {
    let stage = DriverTest::with(streaming(), Script::new());
    stage.stop.cancel();
    stage.drive().await;
    assert!(stage.requests().is_empty());
    assert!(stage.counted().is_empty());
}

#[tokio::test(start_paused = true)]
async fn contract_11_cancelled_in_a_list() {
    let unanswered = ends_when_cancelled(plain(), Script::new(), SOON).await;
    assert_eq!(unanswered.requests(), ["0s list 0 by 500"]);
    let midway = Script::new().lists_parts(vec![listed("a@1"), ScriptStep::Silence]);
    let midway = ends_when_cancelled(plain(), midway, SOON).await;
    assert!(midway.deltas().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn contract_11_cancelled_in_a_stream() {
    let unanswered = ends_when_cancelled(streaming(), Script::new(), SOON).await;
    assert_eq!(unanswered.requests(), ["0s stream newest"]);
    let midway = Script::new().sends(vec![added("a@1"), ScriptStep::Silence]);
    let midway = ends_when_cancelled(streaming(), midway, SOON).await;
    assert!(midway.deltas().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn contract_11_cancelled_in_a_watch() {
    let unanswered = Script::new().lists(&[], at("10"));
    let unanswered = ends_when_cancelled(plain(), unanswered, SOON).await;
    assert_eq!(
        unanswered.requests().last().map(String::as_str),
        Some("0s watch 10")
    );
    let midway = Script::new()
        .lists(&[], at("10"))
        .sends(vec![added("a@11"), ScriptStep::Silence]);
    let midway = ends_when_cancelled(plain(), midway, SOON).await;
    assert_eq!(midway.deltas().await, ["replaced at 10: ", "upsert a@11"]);
}

#[tokio::test(start_paused = true)]
async fn contract_11_cancelled_in_a_wait() {
    let stage = ends_when_cancelled(plain(), Script::new().fails(status(503)), SOON).await;
    assert_eq!(stage.requests(), ["0s list 0 by 500"]);
}

#[tokio::test(start_paused = true)]
async fn contract_11_cancelled_while_the_queue_is_full() {
    let mut version = 10;
    let endless = (0..5_000).map(|_| {
        version += 1;
        modified(&format!("a@{version}"))
    });
    let script = Script::new().lists(&[], at("10")).sends(endless.collect());
    let stage = ends_when_cancelled(plain(), script, SOON).await;
    assert_eq!(
        QueueDepth::of(&stage.queue).get(),
        CAPACITY,
        "the driver waited for space in the queue"
    );
}

#[tokio::test(start_paused = true)]
async fn contract_11_cancelled_in_responses_without_a_pause() {
    const MANY: usize = 10_000;
    static MADE: AtomicUsize = AtomicUsize::new(0);
    fn made() -> RawObject<ConfigMap> {
        MADE.fetch_add(1, Ordering::SeqCst);
        item("a@1")
    }
    let stream = Script::new().sends(vec![
        ScriptStep::Many(MANY, || WatchEvent::Added(made())),
        ScriptStep::Silence,
    ]);
    let list = Script::new().lists_parts(vec![
        ScriptStep::Many(MANY, || ListPart::Object(made())),
        ScriptStep::Silence,
    ]);
    for (settings, script) in [(streaming(), stream), (plain(), list)] {
        let stage = DriverTest::with(settings, script);
        MADE.store(0, Ordering::SeqCst);
        let driver = tokio::spawn(stage.drive());
        tokio::task::yield_now().await;
        stage.stop.cancel();
        driver.await.expect("the driver does not panic");
        assert_eq!(stage.script.open(), 0);
        let made = MADE.load(Ordering::SeqCst);
        assert!((1..MANY).contains(&made), "it was cancelled after {made}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_makes_the_driver_wait_and_loses_nothing() {
    let changes = (11..=4_010)
        .map(|version| modified(&format!("a@{version}")))
        .chain([ScriptStep::Silence]);
    let script = Script::new().lists(&[], at("10")).sends(changes.collect());
    let stage = DriverTest::with(plain(), script);
    let _stops = stage.stop.clone().drop_guard();
    let driver = tokio::spawn(stage.drive());
    let mut seen = Vec::new();
    while seen.len() < 4_001 {
        tokio::task::yield_now().await;
        let batch = stage.pop();
        assert!(batch.len() <= CAPACITY);
        seen.extend(batch);
    }
    let versions: Vec<String> = seen
        .iter()
        .filter_map(|delta| match delta {
            Delta::Upsert(object) => Some(object.version().to_string()),
            _ => None,
        })
        .collect();
    let expected: Vec<String> = (11..=4_010).map(|version| version.to_string()).collect();
    assert_eq!(versions, expected);
    assert!(!driver.is_finished());
}

/// A list can only contradict a cache that contains everything before it.
#[tokio::test(start_paused = true)]
async fn contract_2_a_list_is_compared_with_the_store_after_all_earlier_deltas() {
    let script = Script::new()
        .lists(&["a@1"], at("10"))
        .sends(vec![bookmark("5")])
        .lists(&["a@11"], at("12"));
    let stage = DriverTest::with(plain(), script);
    let behind = stage.context.behind.lock().await;
    let mut driving = std::pin::pin!(stage.drive());
    let some_time = Duration::from_secs(20);
    assert!(tokio::time::timeout(some_time, &mut driving).await.is_err());
    assert_eq!(stage.requests(), ["0s list 0 by 500", "0s watch 10"]);
    drop(behind);
    assert!(tokio::time::timeout(some_time, &mut driving).await.is_err());
    assert_eq!(stage.requests()[2..], ["20s list newest by 500", "20s watch 12"]);
}

#[tokio::test(start_paused = true)]
async fn contract_2_a_failed_list_contradicts_nothing() {
    let script = Script::new()
        .lists(&["a@1"], at("10"))
        .sends(vec![bookmark("5")])
        .lists_parts(vec![listed("b@3"), ScriptStep::Error(status(500))])
        .lists(&["a@11"], at("12"));
    let stage = DriverTest::with(plain(), script);
    stage.run_for(Duration::from_secs(20)).await;
    assert_eq!(stage.requests().last().map(String::as_str), Some("2s watch 12"));
    let reports = stage.reports();
    assert_eq!(reports.len(), 2, "the bookmark and the status: {reports:#?}");
}
