//! Tests of watches: their end and the delay before the next one.

use std::time::Duration;

use super::table::{
    Action, MachineTest,
    ServerAction::{self, Bookmark, Changed, Closed, InitialEnd, Listed, Nothing, Opened, Page, Waited},
    answers, answers_later, bad_data, broke, describe, expired, millis, plain, play, refused, seconds,
    steady, too_large,
};
use crate::pipeline::reflector::Backoff;
use crate::pipeline::reflector::machine::Settings;

/// Returns a machine that has listed at version 10 and requested a watch.
fn watch_requested() -> MachineTest {
    play(
        plain(),
        "list 0 by 500",
        &[(ServerAction::Listed("10"), "replace at 10, watch 10")],
    )
}

/// Returns a machine that watches from version 10.
fn watching() -> MachineTest {
    let mut play = watch_requested();
    play.run(&[(Opened, "good")]);
    play
}

#[test]
fn events_and_bookmarks_advance_the_version() {
    let mut play = watching();
    play.run(&[
        (Changed("11"), "apply"),
        (Bookmark("15"), "apply"),
        (Bookmark("15"), "skip"),
        (Changed("16"), "apply"),
        (Changed("16"), "apply"),
        (seconds(300), "good"),
        (Closed, "watch 16"),
    ]);
}

#[test]
fn a_watch_that_lasted_a_second_is_reopened_at_once() {
    let mut play = watching();
    play.run(&[(seconds(1), "good"), (Closed, "watch 10"), (Opened, "good")]);
    play.run(&[(seconds(599), "good"), (Closed, "watch 10")]);
}

/// The server may have been restored to an older version without reporting it.
#[test]
fn ten_minutes_without_a_version_lead_to_a_relist() {
    let mut play = watching();
    play.run(&[(seconds(500), "good"), (Closed, "watch 10"), (Opened, "good")]);
    play.run(&[(seconds(101), "good"), (Closed, "list 10")]);
    let mut play = watching();
    play.run(&[
        (seconds(500), "good"),
        (Changed("11"), "apply"),
        (Closed, "watch 11"),
    ]);
    play.run(&[(Opened, "good"), (seconds(101), "good"), (Closed, "watch 11")]);
}

#[test]
fn watch_timeouts_are_limited_to_a_day() {
    for requested in [Duration::from_hours(12), Duration::from_hours(13), Duration::MAX] {
        let settings = Settings {
            watch_timeout: requested,
            ..plain()
        };
        for seed in 0..50 {
            let settings = Settings {
                seed,
                ..settings.clone()
            };
            let play = play(
                settings,
                "list 0 by 500",
                &[(ServerAction::Listed("10"), "replace at 10, watch 10")],
            );
            let Action::Watch { request: watch, .. } = &play.action else {
                panic!("{:?}", play.action);
            };
            assert!(watch.timeout >= Duration::from_hours(12), "{:?}", watch.timeout);
            assert!(watch.timeout <= Duration::from_hours(24), "{:?}", watch.timeout);
        }
    }
}

/// Lists may succeed where watches fail: the cache must not fall behind without a bound.
#[test]
fn contract_5_watches_that_are_throttled_for_ten_minutes_lead_to_a_list() {
    let mut play = watch_requested();
    play.run(&[
        (answers(429), "wait 800ms"),
        (Waited, "watch 10"),
        (seconds(599), "good"),
        (answers(429), "wait 1.6s"),
        (Waited, "watch 10"),
        (answers(429), "wait 3.2s"),
        (Waited, "list 10"),
        (answers(429), "wait 6.4s"),
        (Waited, "list 10"),
        (ServerAction::Listed("12"), "replace at 12, watch 12"),
        (answers(429), "wait 12.8s"),
        (Waited, "watch 12"),
    ]);
}

/// A broken watch path cannot hide changes.
#[test]
fn the_fifth_watch_that_breaks_without_an_event_leads_to_a_relist() {
    let mut play = watching();
    for wait in ["800ms", "1.6s", "3.2s", "6.4s"] {
        let wait = format!("wait {wait}");
        play.run(&[(broke(), wait.as_str()), (Waited, "watch 10"), (Opened, "good")]);
    }
    play.run(&[(broke(), "wait 12.8s"), (Waited, "list 10")]);
}

/// An unreachable server would not respond to a list either, and one that throttles requests should not get
/// more of them.
#[test]
fn refused_connections_and_429_retry_the_watch_without_a_relist() {
    for away in [refused, || answers(429)] {
        let mut play = watch_requested();
        for _ in 0..20 {
            play.apply(away());
            play.run(&[(Waited, "watch 10")]);
        }
    }
}

#[test]
fn a_watch_that_closes_within_a_second_is_reopened_after_a_wait() {
    let mut play = watching();
    play.run(&[
        (millis(999), "good"),
        (Closed, "wait 800ms !very short"),
        (Waited, "watch 10"),
        (Opened, "good"),
        (Changed("11"), "apply"),
        (Closed, "wait 1.6s"),
        (Waited, "watch 11"),
    ]);
}

#[test]
fn time_until_the_response_does_not_count_as_watch_time() {
    let mut play = watch_requested();
    play.run(&[
        (seconds(5), "good"),
        (Opened, "good"),
        (Closed, "wait 800ms !very short"),
    ]);
}

#[test]
fn failures_that_keep_the_version_usable_reopen_the_watch() {
    let failures = [
        answers(429),
        answers(500),
        answers(502),
        answers(503),
        answers(504),
        refused(),
        broke(),
    ];
    for failure in failures {
        let mut play = watch_requested();
        play.run(&[
            (failure.clone(), "wait 800ms"),
            (Waited, "watch 10"),
            (failure.clone(), "wait 1.6s"),
            (Waited, "watch 10"),
            (failure, "wait 3.2s"),
            (Waited, "watch 10"),
        ]);
    }
}

#[test]
fn a_broken_or_throttled_watch_resumes_from_its_version() {
    for failure in [answers(429), broke()] {
        let mut play = watching();
        play.run(&[
            (Changed("12"), "apply"),
            (failure, "wait 800ms"),
            (Waited, "watch 12"),
        ]);
    }
}

#[test]
fn an_expired_version_leads_to_a_relist_at_open_and_in_the_stream() {
    let mut at_open = watch_requested();
    at_open.run(&[(expired(), "wait 800ms"), (Waited, "list 10")]);
    let mut in_stream = watching();
    in_stream.run(&[
        (Changed("12"), "apply"),
        (expired(), "wait 800ms"),
        (Waited, "list 12"),
    ]);
}

#[test]
fn a_too_large_version_leads_to_a_list_of_the_most_recent_one() {
    for ahead in too_large() {
        let mut play = watch_requested();
        play.run(&[(ahead, "wait 800ms"), (Waited, "list newest by 500")]);
    }
}

#[test]
fn error_events_and_invalid_data_lead_to_a_relist() {
    for failure in [answers(500), answers(403), bad_data()] {
        let mut play = watching();
        play.run(&[
            (Changed("12"), "apply"),
            (failure, "wait 800ms"),
            (Waited, "list 12"),
        ]);
    }
}

#[test]
fn rejected_watches_lead_to_a_relist() {
    for code in [400, 401, 403, 405, 422] {
        let mut play = watch_requested();
        play.run(&[(answers(code), "wait 800ms"), (Waited, "list 10")]);
    }
}

#[test]
fn retry_after_of_a_watch_is_honoured_up_to_two_minutes() {
    let mut play = watch_requested();
    play.run(&[
        (answers_later(429, 11), "wait 11s"),
        (Waited, "watch 10"),
        (answers_later(503, 600), "wait 120s"),
        (Waited, "watch 10"),
        (Opened, "good"),
        (answers_later(429, 1), "wait 3.2s"),
    ]);
}

#[test]
fn watch_timeouts_are_random_between_the_minimum_and_twice_that() {
    let least = Duration::from_mins(5);
    let mut times = Vec::new();
    for seed in 0..200 {
        let settings = Settings { seed, ..plain() };
        let play = play(
            settings,
            "list 0 by 500",
            &[(Listed("10"), "replace at 10, watch 10")],
        );
        let Action::Watch { request, .. } = play.action else {
            panic!("{}", describe(&play.action));
        };
        times.push(request.timeout);
    }
    assert!(times.iter().all(|time| (least..=2 * least).contains(time)));
    assert!(times.iter().any(|time| *time < least * 6 / 5), "some are short");
    assert!(times.iter().any(|time| *time > least * 9 / 5), "some are long");
}

#[test]
fn contract_12_an_extreme_watch_timeout_is_limited() {
    let patient = Settings {
        watch_timeout: Duration::MAX,
        ..plain()
    };
    let play = play(
        patient,
        "list 0 by 500",
        &[
            (ServerAction::Listed("10"), "replace at 10, watch 10"),
            (Opened, "good"),
        ],
    );
    assert!(play.deadline() > play.now);
}

#[test]
fn an_unanswered_watch_is_requested_again() {
    let mut play = watch_requested();
    play.run(&[
        (Nothing, "30s: wait 800ms !transport"),
        (Waited, "watch 10"),
        (Nothing, "30s: wait 1.6s !transport"),
    ]);
}

/// A gateway may swallow watches, or reset them before it responds, but let lists pass.
#[test]
fn contract_5_the_fifth_watch_without_a_response_leads_to_a_list() {
    let mut play = watch_requested();
    for wait in ["800ms", "1.6s", "3.2s", "6.4s"] {
        let waits = format!("30s: wait {wait} !transport");
        play.run(&[(Nothing, &waits), (Waited, "watch 10")]);
    }
    play.run(&[(Nothing, "30s: wait 12.8s !transport"), (Waited, "list 10")]);

    let mut play = watch_requested();
    for wait in ["800ms", "1.6s", "3.2s", "6.4s"] {
        let waits = format!("wait {wait}");
        play.run(&[(broke(), &waits), (Waited, "watch 10")]);
    }
    play.run(&[(broke(), "wait 12.8s"), (Waited, "list 10")]);
}

#[test]
fn a_watch_that_outlives_its_timeout_is_renewed() {
    let mut play = watching();
    let Action::Watch { request, .. } = watch_requested().action else {
        panic!("a watch is requested");
    };
    // The seed is the same, and so is the timeout.
    let patience = request.timeout + Duration::from_secs(10);
    let renewed = format!("{patience:?}: watch 10 !stalled");
    play.run(&[(Nothing, &renewed)]);
}

#[test]
fn silence_is_detected_sooner_if_the_server_sends_bookmarks() {
    let mut play = watching();
    play.run(&[
        (Bookmark("11"), "apply"),
        (seconds(60), "good"),
        (Bookmark("12"), "apply"),
        (Nothing, "210s: watch 12 !stalled"),
    ]);
}

#[test]
fn the_second_silent_watch_in_a_row_leads_to_a_relist() {
    let mut play = play(
        steady(),
        "stream newest",
        &[(Opened, "good"), (InitialEnd("10"), "replace at 10")],
    );
    play.run(&[
        (Bookmark("10"), "skip"),
        (Nothing, "210s: watch 10 !stalled"),
        (Opened, "good"),
        (Nothing, "210s: wait 800ms !stalled"),
        (Waited, "stream 10"),
        (Opened, "good"),
        (InitialEnd("10"), "replace at 10"),
        (Bookmark("10"), "skip"),
        (Nothing, "210s: watch 10 !stalled"),
    ]);
}

/// Otherwise a server that sent one bookmark by chance would be listed every few minutes.
#[test]
fn bookmarks_that_stop_are_not_expected_after_the_next_list() {
    let mut play = watching();
    play.run(&[
        (Bookmark("11"), "apply"),
        (Nothing, "210s: watch 11 !stalled"),
        (Opened, "good"),
        (Nothing, "210s: wait 800ms !stalled"),
        (Waited, "list 11"),
        (Listed("11"), "replace at 11, watch 11"),
        (Opened, "good"),
    ]);
    assert!(play.deadline() - play.now > Duration::from_secs(300));
}

/// A server may ignore the requested timeout. Its watch is replaced, and not reported as silent.
#[test]
fn a_watch_with_recent_events_is_renewed_without_an_error() {
    let mut play = watching();
    let deadline = play.deadline();
    play.now = deadline - Duration::from_secs(2);
    play.run(&[(Changed("11"), "apply"), (Nothing, "2s: watch 11")]);
    // Ten seconds without an event are too long.
    let mut play = watching();
    play.now = play.deadline() - Duration::from_secs(10);
    play.run(&[(Changed("11"), "apply"), (Nothing, "10s: watch 11 !stalled")]);
}

/// A gateway may open watches and then swallow their events, from a server without bookmarks.
#[test]
fn contract_5_the_second_watch_that_outlives_its_timeout_leads_to_a_list() {
    let mut play = watching();
    let renewed = play.apply(Nothing);
    assert!(renewed.ends_with(": watch 10 !stalled"), "{renewed}");
    play.run(&[(Opened, "good")]);
    let ended = play.apply(Nothing);
    assert!(ended.ends_with(": wait 800ms !stalled"), "{ended}");
    play.run(&[(Waited, "list 10")]);
}

/// Kubernetes has no watch cache for events: the only bookmark is the one that ends the initial events.
#[test]
fn a_server_without_bookmarks_may_be_silent() {
    let mut play = play(
        steady(),
        "stream newest",
        &[(Opened, "good"), (InitialEnd("10"), "replace at 10")],
    );
    play.run(&[
        (seconds(300), "good"),
        (Closed, "watch 10"),
        (Opened, "good"),
        (seconds(299), "good"),
        (Closed, "watch 10"),
    ]);
}

#[test]
fn an_event_resets_the_count_of_silent_watches() {
    let mut play = watching();
    play.run(&[
        (Bookmark("11"), "apply"),
        (Nothing, "210s: watch 11 !stalled"),
        (Opened, "good"),
        (Changed("12"), "apply"),
        (Nothing, "210s: watch 12 !stalled"),
    ]);
}

#[test]
fn contract_2_an_older_event_or_bookmark_is_never_applied() {
    for old in [Changed("9"), Bookmark("9")] {
        let mut play = watching();
        play.run(&[
            (old, "leave, wait 800ms !behind"),
            (Waited, "list newest by 500"),
            (ServerAction::Listed("9"), "list newest by 500 !went back"),
            (ServerAction::Listed("9"), "replace at 9, watch 9"),
        ]);
    }
}

#[test]
fn waits_grow_through_an_outage_of_any_kind_up_to_the_cap() {
    let mut play = watch_requested();
    for (failure, wait) in [
        (refused(), "wait 800ms"),
        (answers(503), "wait 1.6s"),
        (broke(), "wait 3.2s"),
        (answers(429), "wait 6.4s"),
        (answers(500), "wait 12.8s"),
        (refused(), "wait 25.6s"),
        (broke(), "wait 30s"),
        (answers(429), "wait 30s"),
    ] {
        play.run(&[(failure, wait), (Waited, "watch 10")]);
    }
    for _ in 0..100 {
        play.run(&[(refused(), "wait 30s"), (Waited, "watch 10")]);
    }
}

#[test]
fn waits_reset_only_after_two_healthy_minutes() {
    let mut play = watch_requested();
    play.run(&[
        (refused(), "wait 800ms"),
        (Waited, "watch 10"),
        (Opened, "good"),
        (seconds(119), "good"),
        (broke(), "wait 1.6s"),
        (Waited, "watch 10"),
        (Opened, "good"),
        (seconds(60), "good"),
        (Closed, "watch 10"),
        (Opened, "good"),
        (seconds(60), "good"),
        (broke(), "wait 800ms"),
    ]);
}

/// Otherwise a large and slow list would be repeated without a pause.
#[test]
fn contract_9_time_spent_on_failing_lists_is_not_healthy() {
    let mut play = play(
        plain(),
        "list 0 by 500",
        &[
            (Page("10", "t1"), "page t1 by 500"),
            (seconds(130), "good"),
            (broke(), "wait 800ms"),
        ],
    );
    for (token, wait) in [("t2", "wait 1.6s"), ("t3", "wait 3.2s"), ("t4", "wait 6.4s")] {
        play.run(&[
            (Waited, "list 0 by 500"),
            (Page("10", token), &format!("page {token} by 500")),
            (seconds(130), "good"),
            (broke(), wait),
        ]);
    }
}

#[test]
fn contract_9_time_spent_on_failing_streaming_lists_is_not_healthy() {
    let mut play = play(steady(), "stream newest", &[]);
    for wait in ["wait 800ms", "wait 1.6s", "wait 3.2s"] {
        play.run(&[(Opened, "good"), (seconds(130), "good"), (refused(), wait)]);
        play.run(&[(Waited, "stream newest")]);
    }
}

#[test]
fn configured_waits_are_used() {
    let settings = Settings {
        backoff: Backoff {
            initial: Duration::from_secs(2),
            factor: 1.5,
            cap: Duration::from_secs(4),
            jitter: 0.0,
            reset: Duration::from_secs(10),
        },
        ..plain()
    };
    play(
        settings,
        "list 0 by 500",
        &[
            (refused(), "wait 2s"),
            (Waited, "list 0 by 500"),
            (refused(), "wait 3s"),
            (Waited, "list 0 by 500"),
            (refused(), "wait 4s"),
            (Waited, "list 0 by 500"),
            (refused(), "wait 4s"),
            (Waited, "list 0 by 500"),
            (ServerAction::Listed("10"), "replace at 10, watch 10"),
            (Opened, "good"),
            (seconds(10), "good"),
            (broke(), "wait 2s"),
        ],
    );
}
