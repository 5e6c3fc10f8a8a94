//! Tests of kinds that are not served: the handling of a 404.

use std::time::Duration;

use super::scripted::{DriverTest, Script, ScriptStep, added, deleted, initial_end, pause};
use super::table::ServerAction::{self, *};
use super::table::{MachineTest, answers, answers_later, plain, play, seconds, steady};
use crate::error::{Error, StatusError};

const SERVED: ServerAction = Discovered(Some(true));
const NOT_SERVED: ServerAction = Discovered(Some(false));
const UNKNOWN: ServerAction = Discovered(None);

/// Returns a machine that watches from version 10.
fn watching() -> MachineTest {
    play(
        steady(),
        "stream newest",
        &[(Opened, "good"), (InitialEnd("10"), "replace at 10")],
    )
}

#[test]
fn the_informer_waits_for_a_kind_that_is_not_served_yet() {
    for (settings, first, again) in [
        (steady(), "stream newest", "stream newest"),
        (plain(), "list 0 by 500", "list 0 by 500"),
    ] {
        let mut play = play(
            settings,
            first,
            &[
                (answers(404), "check"),
                (NOT_SERVED, "wait 800ms !not served"),
                (Waited, again),
                // The cache is empty, so another 404 needs no check.
                (answers(404), "wait 1.6s !still not served"),
                (Waited, again),
            ],
        );
        for wait in ["3.2s", "6.4s", "12.8s", "25.6s", "30s", "30s"] {
            let waits = format!("wait {wait} !still not served");
            play.run(&[(answers(404), &waits), (Waited, again)]);
        }
    }
}

#[test]
fn a_newly_served_kind_is_listed_at_once_and_may_be_removed_again() {
    let mut play = play(
        steady(),
        "stream newest",
        &[
            (answers(404), "check"),
            (NOT_SERVED, "wait 800ms !not served"),
            (Waited, "stream newest"),
            (Opened, "good"),
            (InitialEnd("10"), "replace at 10"),
            (seconds(300), "good"),
            (Closed, "watch 10"),
            (answers(404), "check"),
        ],
    );
    play.run(&[(NOT_SERVED, "wait 800ms !not served")]);
}

/// A successful list shows that the kind is served, even if no watch was opened since.
#[test]
fn a_kind_removed_between_list_and_watch_empties_the_cache() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (answers(404), "check"),
            (NOT_SERVED, "wait 800ms !not served"),
            (Waited, "list 0 by 500"),
            (Listed("10"), "replace at 10, watch 10"),
            (answers(404), "check"),
            (NOT_SERVED, "wait 1.6s !not served"),
            (seconds(5), "good"),
            (Waited, "list 10"),
            (answers(404), "check"),
            (NOT_SERVED, "remove at 10, wait 3.2s !no longer served"),
            (Waited, "list newest by 500"),
        ],
    );
}

#[test]
fn a_removed_kind_empties_the_cache_after_five_seconds() {
    let mut play = watching();
    play.run(&[
        (seconds(3), "good"),
        (Closed, "watch 10"),
        (answers(404), "check"),
        (NOT_SERVED, "wait 800ms !not served"),
        (Waited, "stream 10"),
        (answers(404), "check"),
        (NOT_SERVED, "wait 1.6s !still not served"),
        (Waited, "stream 10"),
        (answers(404), "check"),
        (NOT_SERVED, "wait 3.2s !still not served"),
        (Waited, "stream 10"),
        (answers(404), "check"),
        (NOT_SERVED, "remove at 10, wait 6.4s !no longer served"),
        // The removal is reported once, and the kind is listed completely when it is served again.
        (Waited, "stream newest"),
        (answers(404), "wait 12.8s !still not served"),
        (Waited, "stream newest"),
        (Opened, "good"),
        (InitialEnd("20"), "replace at 20"),
    ]);
    // A second removal is handled like the first.
    play.run(&[
        (seconds(300), "good"),
        (Closed, "watch 20"),
        (answers(404), "check"),
        (NOT_SERVED, "wait 800ms !not served"),
        (seconds(9), "good"),
        (Waited, "stream 20"),
        (answers(404), "check"),
        (NOT_SERVED, "remove at 20, wait 1.6s !no longer served"),
    ]);
}

#[test]
fn a_kind_served_again_within_five_seconds_keeps_the_cache() {
    for back in [
        vec![(Opened, "good"), (InitialEnd("12"), "replace at 12")],
        vec![(answers(404), "check"), (SERVED, "wait 1.6s")],
    ] {
        let mut play = watching();
        play.run(&[
            (seconds(3), "good"),
            (Closed, "watch 10"),
            (answers(404), "check"),
            (NOT_SERVED, "wait 800ms !not served"),
            (Waited, "stream 10"),
        ]);
        play.run(&back);
        if matches!(back[0].0, Opened) {
            play.run(&[(seconds(60), "good"), (Closed, "watch 12")]);
        } else {
            play.run(&[(Waited, "stream 10"), (seconds(10), "good")]);
        }
        play.run(&[(answers(404), "check")]);
        let answer = play.apply(NOT_SERVED);
        assert!(answer.ends_with(" !not served"), "{answer}");
        assert!(!answer.contains("remove"), "{answer}");
    }
}

/// A proxy may respond to everything with 404.
#[test]
fn contract_5_a_404_alone_empties_nothing() {
    for doubt in [UNKNOWN, SERVED] {
        let mut play = watching();
        play.run(&[
            (seconds(3), "good"),
            (Closed, "watch 10"),
            (answers(404), "check"),
            (doubt.clone(), "wait 800ms"),
            (seconds(60), "good"),
            (Waited, "stream 10"),
            (answers(404), "check"),
            (doubt.clone(), "wait 1.6s"),
            (seconds(60), "good"),
            (Waited, "stream 10"),
            (Opened, "good"),
            (InitialEnd("11"), "replace at 11"),
        ]);
    }
}

/// These failures do not mean that the server cannot stream, so no plain list follows.
#[test]
fn a_streaming_list_that_fails_with_404_is_repeated_after_a_wait() {
    for doubt in [UNKNOWN, SERVED] {
        play(
            steady(),
            "stream newest",
            &[
                (answers(404), "check"),
                (doubt.clone(), "wait 800ms"),
                (Waited, "stream newest"),
                (answers(404), "check"),
                (doubt.clone(), "wait 1.6s"),
                (Waited, "stream newest"),
                (answers(404), "check"),
                (doubt, "wait 3.2s"),
                (Waited, "stream newest"),
            ],
        );
    }
}

#[test]
fn a_404_for_a_served_kind_is_an_ordinary_failure() {
    for doubt in [UNKNOWN, SERVED] {
        play(
            plain(),
            "list 0 by 500",
            &[
                (answers(404), "check"),
                (doubt.clone(), "wait 800ms"),
                (Waited, "list 0 by 500"),
                (Page("10", "t1"), "page t1 by 500"),
                (answers(404), "check"),
                (doubt.clone(), "wait 1.6s"),
                (Waited, "list 0 by 500"),
                (Listed("10"), "replace at 10, watch 10"),
                (answers(404), "check"),
                (doubt.clone(), "wait 3.2s"),
                (Waited, "list 10 by 500"),
                (Listed("11"), "replace at 11, watch 11"),
                (Opened, "good"),
                (Changed("12"), "apply"),
                (answers(404), "check"),
                (doubt, "wait 6.4s"),
                (Waited, "list 12 by 500"),
            ],
        );
    }
}

#[test]
fn contract_9_retry_after_of_a_404_is_honoured() {
    play(
        steady(),
        "stream newest",
        &[
            (answers_later(404, 20), "check"),
            (NOT_SERVED, "wait 20s !not served"),
            (Waited, "stream newest"),
            (answers_later(404, 50), "wait 50s !still not served"),
        ],
    );
}

fn not_found() -> Error {
    Error::status(StatusError {
        code: 404,
        message: "404 page not found".to_owned(),
        ..StatusError::default()
    })
}

/// A kind that is missing, created, deleted with an object still in the cache, and created again.
#[tokio::test(start_paused = true)]
async fn the_objects_of_a_removed_kind_are_deleted() {
    let script = Script::new()
        .fails(not_found())
        .discovers(false)
        .fails(not_found())
        .sends(vec![
            added("a@3"),
            added("b@4"),
            initial_end("5"),
            pause(60),
            deleted("a@6"),
        ])
        .fails(not_found())
        .discovers(false)
        .fails(not_found())
        .never_answers()
        .fails(not_found())
        .discovers(false)
        .fails(not_found())
        .sends(vec![added("c@8"), initial_end("9"), ScriptStep::Silence]);
    let stage = DriverTest::with(steady(), script);
    stage.run_for(Duration::from_mins(5)).await;
    assert_eq!(
        stage.deltas().await,
        [
            "replaced at 5: a@3 b@4",
            "deleted a@6",
            "kind removed after 6",
            "replaced at 9: c@8",
        ]
    );
    assert_eq!(
        stage.requests(),
        [
            "0s stream newest",
            "0s served?",
            "0s stream newest",
            "2s stream newest",
            "62s watch 6",
            "62s served?",
            "65s stream 6",
            "65s served?",
            "102s stream 6",
            "102s served?",
            "114s stream newest",
            "140s stream newest",
        ]
    );
    let waits = "server does not serve v1 ConfigMap (404): waiting until it does; hint: is this API enabled on the \
                 server?";
    let streaming = "listing configmaps in namespace default as a stream";
    assert_eq!(
        stage.reports(),
        [
            format!("{streaming}: {waits}"),
            format!("{streaming}: {waits}"),
            format!("watching configmaps in namespace default: {waits}"),
            format!(
                "{streaming}: server returned 404: 404 page not found; hint: is v1 ConfigMap enabled on the server?"
            ),
            format!(
                "{streaming}: server no longer serves v1 ConfigMap (404): clearing the cache and waiting until it does"
            ),
            format!("{streaming}: {waits}"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_discovery_request_leaves_the_404_as_the_failure() {
    let script = Script::new()
        .fails(not_found())
        .fails(Error::status(StatusError {
            code: 403,
            ..StatusError::default()
        }))
        .sends(vec![added("a@3"), initial_end("5"), ScriptStep::Silence]);
    let stage = DriverTest::with(steady(), script);
    stage.run_for(Duration::from_secs(5)).await;
    assert_eq!(stage.deltas().await, ["replaced at 5: a@3"]);
    assert_eq!(
        stage.requests(),
        ["0s stream newest", "0s served?", "0s stream newest"]
    );
    let reports = stage.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert!(reports[0].contains("server returned 404"), "{reports:?}");
}
