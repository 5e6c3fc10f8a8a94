//! Tests of streaming lists and their fallbacks.

use super::table::{
    MachineTest,
    ServerAction::{
        self, Bookmark, Changed, Closed, Failed, InitialEnd, InitialEndOfAnother, Listed, Nothing, Opened,
        Page, Waited,
    },
    answers, answers_later, bad_data, broke, expired, millis, play, refused, seconds, steady, too_large,
};
use crate::error::Error;

/// Returns a machine whose stream ended at version 10 and continues as a watch.
fn streamed() -> MachineTest {
    play(
        steady(),
        "stream newest",
        &[
            (Opened, "good"),
            (Changed("7"), "collect"),
            (InitialEnd("10"), "replace at 10"),
        ],
    )
}

#[test]
fn a_streaming_list_is_tried_first_and_continues_as_the_watch() {
    let mut play = streamed();
    play.run(&[
        (Changed("11"), "apply"),
        (Bookmark("14"), "apply"),
        (seconds(400), "good"),
        (Closed, "watch 14"),
    ]);
}

#[test]
fn initial_events_are_collected_in_any_order_of_versions() {
    play(
        steady(),
        "stream newest",
        &[
            (Opened, "good"),
            (Changed("9"), "collect"),
            (Changed("3"), "collect"),
            (Changed("9"), "collect"),
            (Bookmark("5"), "skip"),
            (Changed("4"), "collect"),
            (InitialEnd("10"), "replace at 10"),
        ],
    );
}

#[test]
fn a_relist_streams_from_the_last_version() {
    let mut play = streamed();
    play.run(&[
        (bad_data(), "wait 800ms"),
        (Waited, "stream 10"),
        (Opened, "good"),
        (InitialEnd("12"), "replace at 12"),
        (Changed("13"), "apply"),
    ]);
}

#[test]
fn after_a_refused_streaming_list_plain_lists_are_used_for_ten_minutes() {
    for code in [400, 405, 406, 415, 422, 501] {
        let mut play = play(
            steady(),
            "stream newest",
            &[
                (answers(code), "list 0 by 500"),
                (Listed("10"), "replace at 10, watch 10"),
                (Opened, "good"),
                (seconds(590), "good"),
                (bad_data(), "wait 800ms"),
                (Waited, "list 10"),
                (Listed("11"), "replace at 11, watch 11"),
                (Opened, "good"),
                (seconds(10), "good"),
                (bad_data(), "wait 1.6s"),
            ],
        );
        play.run(&[
            (Waited, "stream 11"),
            (answers(code), "list 11"),
            (Listed("12"), "replace at 12, watch 12"),
            (bad_data(), "wait 3.2s"),
            (Waited, "list 12"),
        ]);
    }
}

#[test]
fn the_second_failed_streaming_list_in_a_row_pauses_streaming() {
    let failures = [
        answers(401),
        answers(403),
        answers(500),
        answers(503),
        broke(),
        bad_data(),
        Failed(Error::user_code("the transform failed")),
    ];
    for failure in failures {
        play(
            steady(),
            "stream newest",
            &[
                (failure.clone(), "list 0 by 500"),
                (failure.clone(), "wait 800ms"),
                (Waited, "stream newest"),
                (failure.clone(), "list 0 by 500"),
                (failure.clone(), "wait 1.6s"),
                (Waited, "list 0 by 500"),
                (failure, "wait 3.2s"),
            ],
        );
    }
}

#[test]
fn a_successful_streaming_list_resets_the_count_of_failures() {
    play(
        steady(),
        "stream newest",
        &[
            (broke(), "list 0 by 500"),
            (Listed("10"), "replace at 10, watch 10"),
            (bad_data(), "wait 800ms"),
            (Waited, "stream 10"),
            (InitialEnd("11"), "replace at 11"),
            (bad_data(), "wait 1.6s"),
            (Waited, "stream 11"),
            (broke(), "list 11"),
            (Listed("12"), "replace at 12, watch 12"),
            (bad_data(), "wait 3.2s"),
            (Waited, "stream 12"),
        ],
    );
}

#[test]
fn a_streaming_list_that_closes_early_becomes_a_list() {
    play(
        steady(),
        "stream newest",
        &[
            (Opened, "good"),
            (Changed("7"), "collect"),
            (Closed, "list 0 by 500 !no streaming"),
            (Listed("10"), "replace at 10, watch 10"),
            (bad_data(), "wait 800ms"),
            (Waited, "list 10"),
        ],
    );
}

#[test]
fn a_streaming_list_without_a_response_becomes_a_list_after_30_seconds() {
    play(
        steady(),
        "stream newest",
        &[
            (Nothing, "30s: list 0 by 500 !transport"),
            (Listed("10"), "replace at 10, watch 10"),
            (bad_data(), "wait 800ms"),
            // The second time, streaming lists are disabled.
            (Waited, "stream 10"),
            (Nothing, "30s: list 10 !transport"),
            (Listed("10"), "replace at 10, watch 10"),
            (bad_data(), "wait 1.6s"),
            (Waited, "list 10"),
        ],
    );
}

#[test]
fn a_silent_streaming_list_becomes_a_list_after_ten_seconds() {
    play(
        steady(),
        "stream newest",
        &[
            (seconds(4), "good"),
            (Opened, "good"),
            (seconds(9), "good"),
            (Changed("7"), "collect"),
            (Nothing, "10s: list 0 by 500 !no streaming"),
        ],
    );
}

#[test]
fn an_endless_streaming_list_becomes_a_list_after_five_minutes() {
    let mut play = play(steady(), "stream newest", &[(Opened, "good")]);
    for _ in 0..59 {
        play.run(&[(seconds(5), "good"), (Changed("7"), "collect")]);
    }
    play.run(&[(Nothing, "5s: list 0 by 500 !no streaming")]);
}

#[test]
fn a_version_that_the_server_lacks_is_dropped_at_once() {
    let [first, second, third] = too_large();
    for failure in [expired(), first, second, third] {
        let mut play = streamed();
        play.run(&[
            (bad_data(), "wait 800ms"),
            (Waited, "stream 10"),
            (failure.clone(), "stream newest"),
            (InitialEnd("30"), "replace at 30"),
            (bad_data(), "wait 1.6s"),
            (Waited, "stream 30"),
            (failure.clone(), "stream newest"),
            (failure.clone(), "list newest by 500"),
            (failure, "wait 3.2s"),
        ]);
    }
}

#[test]
fn an_unreachable_server_gets_another_streaming_list() {
    let mut play = play(
        steady(),
        "stream newest",
        &[
            (refused(), "wait 800ms"),
            (Waited, "stream newest"),
            (refused(), "wait 1.6s"),
            (Waited, "stream newest"),
            (refused(), "wait 3.2s"),
            (Waited, "stream newest"),
        ],
    );
    play.run(&[(Opened, "good"), (InitialEnd("10"), "replace at 10")]);
}

#[test]
fn a_busy_server_gets_another_streaming_list_at_the_last_version() {
    let mut play = streamed();
    play.run(&[
        (bad_data(), "wait 800ms"),
        (Waited, "stream 10"),
        (answers(429), "wait 1.6s"),
        (Waited, "stream 10"),
        (answers_later(429, 9), "wait 9s"),
        (Waited, "stream 10"),
        (Opened, "good"),
        (InitialEnd("10"), "replace at 10"),
    ]);
}

/// A server whose watch cache lags responds to every streaming list at the newest version with 429.
#[test]
fn contract_5_a_stream_at_the_newest_version_that_is_throttled_becomes_a_list_from_the_watch_cache() {
    play(
        steady(),
        "stream newest",
        &[
            (answers_later(429, 9), "wait 9s"),
            (Waited, "list 0 by 500"),
            (Listed("10"), "replace at 10, watch 10"),
        ],
    );
    let mut play = streamed();
    play.run(&[
        (bad_data(), "wait 800ms"),
        (Waited, "stream 10"),
        (expired(), "stream newest"),
        (answers(429), "wait 1.6s"),
        (Waited, "list 10"),
        (Listed("12"), "replace at 12, watch 12"),
    ]);
}

#[test]
fn contract_9_retry_after_of_a_stream_that_fails_is_honoured() {
    let mut play = streamed();
    play.run(&[
        (bad_data(), "wait 800ms"),
        (Waited, "stream 10"),
        (answers_later(503, 20), "wait 20s"),
        (Waited, "list 10"),
    ]);
}

#[test]
fn contract_2_an_older_stream_is_rejected_unless_the_server_went_back() {
    let mut play = streamed();
    play.run(&[
        (bad_data(), "wait 800ms"),
        (Waited, "stream 10"),
        (Opened, "good"),
        (Changed("3"), "collect"),
        (InitialEnd("8"), "leave, stream newest !behind"),
        (Opened, "good"),
        (InitialEnd("8"), "leave, stream newest !went back"),
        (Opened, "good"),
        (InitialEnd("8"), "replace at 8"),
        (Changed("9"), "apply"),
    ]);
}

#[test]
fn contract_2_a_stream_of_another_history_is_requested_once_more() {
    let mut play = streamed();
    play.run(&[
        (bad_data(), "wait 800ms"),
        (Waited, "stream 10"),
        (Opened, "good"),
        (InitialEnd("8"), "leave, stream newest !behind"),
        (Opened, "good"),
        (InitialEndOfAnother("12"), "leave, stream newest !went back"),
        (Opened, "good"),
        (InitialEndOfAnother("12"), "replace at 12"),
    ]);
}

#[test]
fn contract_2_a_stream_ahead_of_the_server_is_remembered_until_the_next() {
    for ahead in too_large() {
        let mut play = streamed();
        play.run(&[(bad_data(), "wait 800ms"), (Waited, "stream 10")]);
        assert!(!play.contradicts("8"));
        play.apply(ahead);
        assert!(play.contradicts("8"));
    }
}

#[test]
fn a_stream_that_closes_right_after_its_end_is_a_short_watch() {
    let mut play = streamed();
    play.run(&[
        (millis(999), "good"),
        (Closed, "wait 800ms"),
        (Waited, "watch 10"),
    ]);
    let mut play = streamed();
    play.run(&[(seconds(1), "good"), (Closed, "watch 10")]);
}

#[test]
fn streaming_can_be_disabled() {
    let rows: &[(ServerAction, &str)] = &[
        (Listed("10"), "replace at 10, watch 10"),
        (bad_data(), "wait 800ms"),
        (Waited, "list 10"),
    ];
    play(super::table::plain(), "list 0 by 500", rows);
}

#[test]
fn contract_9_the_third_fallback_request_is_delayed() {
    let mut play = streamed();
    play.run(&[
        (bad_data(), "wait 800ms"),
        (Waited, "stream 10"),
        (expired(), "stream newest"),
        (answers(422), "list newest by 500"),
        (Page("12", "t1"), "page t1 by 500"),
        (expired(), "wait 1.6s"),
        (Waited, "list newest by 500"),
        (Page("12", "t1"), "page t1 by 500"),
        (expired(), "list newest"),
        (Listed("12"), "replace at 12, watch 12"),
    ]);
}
