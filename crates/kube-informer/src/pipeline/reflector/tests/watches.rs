//! Watches: how they end, and how long the reflector waits before the next one.

use std::time::Duration;

use super::table::{
    Action,
    Did::{self, Bookmark, Changed, Closed, InitialEnd, Listed, Nothing, Opened, Page, Waited},
    Play, answers, answers_later, bad_data, broke, describe, expired, millis, plain, play, refused, seconds,
    steady, too_large,
};
use crate::pipeline::reflector::Backoff;
use crate::pipeline::reflector::machine::Settings;

/// Listed at version 10; the watch is asked for and not answered yet.
fn asked() -> Play {
    play(
        plain(),
        "list 0 by 500",
        &[(Did::Listed("10"), "whole at 10, watch 10")],
    )
}

/// The same, answered.
fn watching() -> Play {
    let mut play = asked();
    play.go_on(&[(Opened, "good")]);
    play
}

#[test]
fn events_and_bookmarks_advance_the_version() {
    let mut play = watching();
    play.go_on(&[
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
    play.go_on(&[(seconds(1), "good"), (Closed, "watch 10"), (Opened, "good")]);
    play.go_on(&[(seconds(599), "good"), (Closed, "watch 10")]);
}

/// It may have been restored to an older version, of which it says nothing.
#[test]
fn ten_minutes_without_a_version_lead_to_a_relist() {
    let mut play = watching();
    play.go_on(&[(seconds(500), "good"), (Closed, "watch 10"), (Opened, "good")]);
    play.go_on(&[(seconds(101), "good"), (Closed, "list 10")]);
    let mut play = watching();
    play.go_on(&[
        (seconds(500), "good"),
        (Changed("11"), "apply"),
        (Closed, "watch 11"),
    ]);
    play.go_on(&[(Opened, "good"), (seconds(101), "good"), (Closed, "watch 11")]);
}

#[test]
fn no_watch_is_asked_for_more_than_a_day() {
    for asked in [Duration::from_hours(12), Duration::from_hours(13), Duration::MAX] {
        let settings = Settings {
            watch_timeout: asked,
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
                &[(Did::Listed("10"), "whole at 10, watch 10")],
            );
            let Action::Watch { request: watch, .. } = &play.action else {
                panic!("{:?}", play.action);
            };
            assert!(watch.timeout >= Duration::from_hours(12), "{:?}", watch.timeout);
            assert!(watch.timeout <= Duration::from_hours(24), "{:?}", watch.timeout);
        }
    }
}

/// Lists may pass where watches do not: the cache must not fall behind without a bound.
#[test]
fn contract_5_watches_that_are_throttled_for_ten_minutes_lead_to_a_list() {
    let mut play = asked();
    play.go_on(&[
        (answers(429), "wait 800ms"),
        (Waited, "watch 10"),
        (seconds(599), "good"),
        (answers(429), "wait 1.6s"),
        (Waited, "watch 10"),
        (answers(429), "wait 3.2s"),
        (Waited, "list 10"),
        (answers(429), "wait 6.4s"),
        (Waited, "list 10"),
        (Did::Listed("12"), "whole at 12, watch 12"),
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
        play.go_on(&[(broke(), wait.as_str()), (Waited, "watch 10"), (Opened, "good")]);
    }
    play.go_on(&[(broke(), "wait 12.8s"), (Waited, "list 10")]);
}

/// A server that cannot be reached would not answer a list either, and one that asks for fewer requests should not be
/// asked for more.
#[test]
fn refused_connections_and_429_retry_the_watch_without_a_relist() {
    for away in [refused, || answers(429)] {
        let mut play = asked();
        for _ in 0..20 {
            play.tell(away());
            play.go_on(&[(Waited, "watch 10")]);
        }
    }
}

#[test]
fn a_watch_that_closes_within_a_second_is_reopened_after_a_wait() {
    let mut play = watching();
    play.go_on(&[
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
    let mut play = asked();
    play.go_on(&[
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
        let mut play = asked();
        play.go_on(&[
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
        play.go_on(&[
            (Changed("12"), "apply"),
            (failure, "wait 800ms"),
            (Waited, "watch 12"),
        ]);
    }
}

#[test]
fn an_expired_version_leads_to_a_relist_at_open_and_in_the_stream() {
    let mut at_open = asked();
    at_open.go_on(&[(expired(), "wait 800ms"), (Waited, "list 10")]);
    let mut in_stream = watching();
    in_stream.go_on(&[
        (Changed("12"), "apply"),
        (expired(), "wait 800ms"),
        (Waited, "list 12"),
    ]);
}

#[test]
fn a_too_large_version_leads_to_a_list_of_the_most_recent_one() {
    for ahead in too_large() {
        let mut play = asked();
        play.go_on(&[(ahead, "wait 800ms"), (Waited, "list newest by 500")]);
    }
}

#[test]
fn error_events_and_invalid_data_lead_to_a_relist() {
    for failure in [answers(500), answers(403), bad_data()] {
        let mut play = watching();
        play.go_on(&[
            (Changed("12"), "apply"),
            (failure, "wait 800ms"),
            (Waited, "list 12"),
        ]);
    }
}

#[test]
fn rejected_watches_lead_to_a_relist() {
    for code in [400, 401, 403, 405, 422] {
        let mut play = asked();
        play.go_on(&[(answers(code), "wait 800ms"), (Waited, "list 10")]);
    }
}

#[test]
fn retry_after_of_a_watch_is_honoured_up_to_two_minutes() {
    let mut play = asked();
    play.go_on(&[
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
            &[(Listed("10"), "whole at 10, watch 10")],
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
fn contract_12_a_watch_timeout_beyond_reason_does_no_harm() {
    let patient = Settings {
        watch_timeout: Duration::MAX,
        ..plain()
    };
    let play = play(
        patient,
        "list 0 by 500",
        &[(Did::Listed("10"), "whole at 10, watch 10"), (Opened, "good")],
    );
    assert!(play.deadline() > play.now);
}

#[test]
fn an_unanswered_watch_is_requested_again() {
    let mut play = asked();
    play.go_on(&[
        (Nothing, "30s: wait 800ms !transport"),
        (Waited, "watch 10"),
        (Nothing, "30s: wait 1.6s !transport"),
    ]);
}

/// A gateway may swallow watches, or reset them before it answers, while it lets lists pass.
#[test]
fn contract_5_the_fifth_watch_without_an_answer_leads_to_a_list() {
    let mut play = asked();
    for wait in ["800ms", "1.6s", "3.2s", "6.4s"] {
        let waits = format!("30s: wait {wait} !transport");
        play.go_on(&[(Nothing, &waits), (Waited, "watch 10")]);
    }
    play.go_on(&[(Nothing, "30s: wait 12.8s !transport"), (Waited, "list 10")]);

    let mut play = asked();
    for wait in ["800ms", "1.6s", "3.2s", "6.4s"] {
        let waits = format!("wait {wait}");
        play.go_on(&[(broke(), &waits), (Waited, "watch 10")]);
    }
    play.go_on(&[(broke(), "wait 12.8s"), (Waited, "list 10")]);
}

#[test]
fn a_watch_that_outlives_its_timeout_is_renewed() {
    let mut play = watching();
    let Action::Watch { request, .. } = asked().action else {
        panic!("a watch is requested");
    };
    // The seed is the same, and so is the timeout.
    let patience = request.timeout + Duration::from_secs(10);
    let renewed = format!("{patience:?}: watch 10 !stalled");
    play.go_on(&[(Nothing, &renewed)]);
}

#[test]
fn silence_is_detected_sooner_if_the_server_sends_bookmarks() {
    let mut play = watching();
    play.go_on(&[
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
        &[(Opened, "good"), (InitialEnd("10"), "whole at 10")],
    );
    play.go_on(&[
        (Bookmark("10"), "skip"),
        (Nothing, "210s: watch 10 !stalled"),
        (Opened, "good"),
        (Nothing, "210s: wait 800ms !stalled"),
        (Waited, "stream 10"),
        (Opened, "good"),
        (InitialEnd("10"), "whole at 10"),
        (Nothing, "210s: watch 10 !stalled"),
    ]);
}

/// Something may answer watches and then swallow their events, from a server that sends no bookmarks.
#[test]
fn contract_5_the_second_watch_that_outlives_its_timeout_leads_to_a_list() {
    let mut play = watching();
    let renewed = play.tell(Nothing);
    assert!(renewed.ends_with(": watch 10 !stalled"), "{renewed}");
    play.go_on(&[(Opened, "good")]);
    let ended = play.tell(Nothing);
    assert!(ended.ends_with(": wait 800ms !stalled"), "{ended}");
    play.go_on(&[(Waited, "list 10")]);
}

/// Kubernetes has no watch cache for events: the bookmark that ends the initial ones is the only one.
#[test]
fn a_server_without_bookmarks_may_be_silent() {
    let mut play = play(
        steady(),
        "stream newest",
        &[(Opened, "good"), (InitialEnd("10"), "whole at 10")],
    );
    play.go_on(&[
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
    play.go_on(&[
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
        play.go_on(&[
            (old, "leave, wait 800ms !behind"),
            (Waited, "list newest by 500"),
            (Did::Listed("9"), "list newest by 500 !went back"),
            (Did::Listed("9"), "whole at 9, watch 9"),
        ]);
    }
}

#[test]
fn waits_grow_through_an_outage_of_any_kind_up_to_the_cap() {
    let mut play = asked();
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
        play.go_on(&[(failure, wait), (Waited, "watch 10")]);
    }
    for _ in 0..100 {
        play.go_on(&[(refused(), "wait 30s"), (Waited, "watch 10")]);
    }
}

#[test]
fn waits_reset_only_after_two_healthy_minutes() {
    let mut play = asked();
    play.go_on(&[
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

/// Otherwise a list that is large and slow would be repeated without a pause.
#[test]
fn contract_9_time_spent_on_lists_that_fail_is_not_health() {
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
        play.go_on(&[
            (Waited, "list 0 by 500"),
            (Page("10", token), &format!("page {token} by 500")),
            (seconds(130), "good"),
            (broke(), wait),
        ]);
    }
}

#[test]
fn contract_9_time_spent_on_streaming_lists_that_fail_is_not_health() {
    let mut play = play(steady(), "stream newest", &[]);
    for wait in ["wait 800ms", "wait 1.6s", "wait 3.2s"] {
        play.go_on(&[(Opened, "good"), (seconds(130), "good"), (refused(), wait)]);
        play.go_on(&[(Waited, "stream newest")]);
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
            (Did::Listed("10"), "whole at 10, watch 10"),
            (Opened, "good"),
            (seconds(10), "good"),
            (broke(), "wait 2s"),
        ],
    );
}
