//! Kinds that are not served: what a 404 means, and what follows it.

use std::time::Duration;

use super::scripted::{Script, Stage, Told, added, deleted, initial_end, pause};
use super::table::Did::{self, *};
use super::table::{Play, answers, answers_later, plain, play, seconds, steady};
use crate::error::{Error, StatusError};

const SERVED: Did = Discovered(Some(true));
const NOT_SERVED: Did = Discovered(Some(false));
const UNKNOWN: Did = Discovered(None);

/// A machine that watches from version 10.
fn watching() -> Play {
    play(
        steady(),
        "stream newest",
        &[(Opened, "good"), (InitialEnd("10"), "whole at 10")],
    )
}

#[test]
fn a_kind_that_is_not_served_yet_is_awaited() {
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
                // Nothing is in the cache, so another 404 tells nothing that discovery could doubt.
                (answers(404), "wait 1.6s !still not served"),
                (Waited, again),
            ],
        );
        for wait in ["3.2s", "6.4s", "12.8s", "25.6s", "30s", "30s"] {
            let waits = format!("wait {wait} !still not served");
            play.go_on(&[(answers(404), &waits), (Waited, again)]);
        }
    }
}

#[test]
fn a_kind_that_comes_is_listed_at_once_and_may_go_again() {
    let mut play = play(
        steady(),
        "stream newest",
        &[
            (answers(404), "check"),
            (NOT_SERVED, "wait 800ms !not served"),
            (Waited, "stream newest"),
            (Opened, "good"),
            (InitialEnd("10"), "whole at 10"),
            (seconds(300), "good"),
            (Closed, "watch 10"),
            (answers(404), "check"),
        ],
    );
    play.go_on(&[(NOT_SERVED, "wait 800ms !not served")]);
}

/// A list is enough to show that it is served, also if no watch was answered since.
#[test]
fn a_kind_that_was_listed_and_went_before_it_was_watched_is_gone_like_any_other() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (answers(404), "check"),
            (NOT_SERVED, "wait 800ms !not served"),
            (Waited, "list 0 by 500"),
            (Listed("10"), "whole at 10, watch 10"),
            (answers(404), "check"),
            (NOT_SERVED, "wait 1.6s !not served"),
            (seconds(5), "good"),
            (Waited, "list 10"),
            (answers(404), "check"),
            (NOT_SERVED, "gone at 10, wait 3.2s !no longer served"),
            (Waited, "list newest by 500"),
        ],
    );
}

#[test]
fn a_kind_that_goes_is_gone_after_five_seconds() {
    let mut play = watching();
    play.go_on(&[
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
        (NOT_SERVED, "gone at 10, wait 6.4s !no longer served"),
        // Once is enough, and what comes back is looked at as a whole.
        (Waited, "stream newest"),
        (answers(404), "wait 12.8s !still not served"),
        (Waited, "stream newest"),
        (Opened, "good"),
        (InitialEnd("20"), "whole at 20"),
    ]);
    // A second disappearance is like the first.
    play.go_on(&[
        (seconds(300), "good"),
        (Closed, "watch 20"),
        (answers(404), "check"),
        (NOT_SERVED, "wait 800ms !not served"),
        (seconds(9), "good"),
        (Waited, "stream 20"),
        (answers(404), "check"),
        (NOT_SERVED, "gone at 20, wait 1.6s !no longer served"),
    ]);
}

#[test]
fn a_kind_that_is_back_within_five_seconds_was_never_gone() {
    for back in [
        vec![(Opened, "good"), (InitialEnd("12"), "whole at 12")],
        vec![(answers(404), "check"), (SERVED, "wait 1.6s")],
    ] {
        let mut play = watching();
        play.go_on(&[
            (seconds(3), "good"),
            (Closed, "watch 10"),
            (answers(404), "check"),
            (NOT_SERVED, "wait 800ms !not served"),
            (Waited, "stream 10"),
        ]);
        play.go_on(&back);
        if matches!(back[0].0, Opened) {
            play.go_on(&[(seconds(60), "good"), (Closed, "watch 12")]);
        } else {
            play.go_on(&[(Waited, "stream 10"), (seconds(10), "good")]);
        }
        play.go_on(&[(answers(404), "check")]);
        let answer = play.tell(NOT_SERVED);
        assert!(answer.ends_with(" !not served"), "{answer}");
        assert!(!answer.contains("gone"), "{answer}");
    }
}

/// A proxy may answer everything with 404.
#[test]
fn contract_5_a_404_alone_empties_nothing() {
    for doubt in [UNKNOWN, SERVED] {
        let mut play = watching();
        play.go_on(&[
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
            (InitialEnd("11"), "whole at 11"),
        ]);
    }
}

/// None of these says that the server cannot stream, so there is neither a list in its place nor a pause of streams.
#[test]
fn a_streaming_list_answered_404_is_repeated_after_a_wait() {
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
fn a_404_that_is_no_absence_is_a_failure_like_others() {
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
                (Listed("10"), "whole at 10, watch 10"),
                (answers(404), "check"),
                (doubt.clone(), "wait 3.2s"),
                (Waited, "list 10 by 500"),
                (Listed("11"), "whole at 11, watch 11"),
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
fn contract_9_a_server_that_wants_to_be_left_alone_is() {
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

/// The whole life: missing, there, deleted with an object still in the cache, back.
#[tokio::test(start_paused = true)]
async fn what_is_left_of_a_kind_that_is_gone_is_replaced_by_nothing() {
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
        .sends(vec![added("c@8"), initial_end("9"), Told::Silence]);
    let stage = Stage::with(steady(), script);
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
    let waits = "the server does not serve v1 ConfigMap (404); the informer waits until it does; is it switched \
                 off here, or of another Kubernetes version?";
    let streaming = "listing configmaps in namespace default as a stream";
    assert_eq!(
        stage.reports(),
        [
            format!("{streaming}: {waits}"),
            format!("{streaming}: {waits}"),
            format!("watching configmaps in namespace default: {waits}"),
            format!("{streaming}: the server answered 404: 404 page not found; is v1 ConfigMap served here?"),
            format!(
                "{streaming}: the server no longer serves v1 ConfigMap (404); the cache is emptied, and the informer \
                 waits until it is served again"
            ),
            format!("{streaming}: {waits}"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_error_of_discovery_leaves_the_404_a_failure() {
    let script = Script::new()
        .fails(not_found())
        .fails(Error::status(StatusError {
            code: 403,
            ..StatusError::default()
        }))
        .sends(vec![added("a@3"), initial_end("5"), Told::Silence]);
    let stage = Stage::with(steady(), script);
    stage.run_for(Duration::from_secs(5)).await;
    assert_eq!(stage.deltas().await, ["replaced at 5: a@3"]);
    assert_eq!(
        stage.requests(),
        ["0s stream newest", "0s served?", "0s stream newest"]
    );
    let reports = stage.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert!(reports[0].contains("the server answered 404"), "{reports:?}");
}
