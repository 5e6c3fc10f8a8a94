//! Tests of lists: the requested version and the next steps.

use super::table::{
    Action,
    ServerAction::{
        Bookmark, Changed, EmptyPage, Failed, Listed, ListedAnother, Nothing, Opened, Page, Waited,
    },
    answers, answers_later, bad_data, broke, describe, expired, plain, play, refused, seconds, too_large,
};
use crate::error::Error;
use crate::pipeline::reflector::machine::{PageSize, Settings};

#[test]
fn the_first_list_accepts_any_version_and_later_ones_start_at_the_last() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (Listed("10"), "replace at 10, watch 10"),
            (bad_data(), "wait 800ms"),
            (Waited, "list 10"),
            (Listed("10"), "replace at 10, watch 10"),
        ],
    );
}

#[test]
fn after_an_expired_version_the_most_recent_one_is_listed() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (Listed("10"), "replace at 10, watch 10"),
            (expired(), "wait 800ms"),
            (Waited, "list 10"),
            (expired(), "list newest by 500"),
            (Listed("30"), "replace at 30, watch 30"),
            (bad_data(), "wait 1.6s"),
            (Waited, "list 30"),
        ],
    );
}

#[test]
fn after_a_too_large_version_the_most_recent_one_is_listed() {
    for ahead in too_large() {
        play(
            plain(),
            "list 0 by 500",
            &[
                (Listed("20"), "replace at 20, watch 20"),
                (bad_data(), "wait 800ms"),
                (Waited, "list 20"),
                (ahead.clone(), "list newest by 500"),
                (ahead, "wait 1.6s"),
                (Waited, "list newest by 500"),
                (Listed("21"), "replace at 21, watch 21"),
            ],
        );
    }
}

#[test]
fn contract_5_after_a_version_that_the_server_rejects_the_most_recent_one_is_listed() {
    for code in [400, 422] {
        play(
            plain(),
            "list 0 by 500",
            &[
                (Listed("abc"), "replace at abc, watch abc"),
                (bad_data(), "wait 800ms"),
                (Waited, "list abc"),
                (answers(code), "list newest by 500"),
                (Listed("21"), "replace at 21, watch 21"),
            ],
        );
    }
}

#[test]
fn a_paged_list_is_applied_at_its_end() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (Page("10", "t1"), "page t1 by 500"),
            (Page("10", "t2"), "page t2 by 500"),
            (Listed("10"), "replace at 10, watch 10"),
        ],
    );
}

#[test]
fn a_server_that_pages_at_any_version_gets_paged_requests_from_then_on() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (Page("10", "t1"), "page t1 by 500"),
            (Listed("10"), "replace at 10, watch 10"),
            (bad_data(), "wait 800ms"),
            (Waited, "list 10 by 500"),
            (Listed("11"), "replace at 11, watch 11"),
        ],
    );
}

#[test]
fn pages_of_the_most_recent_version_prove_nothing_about_a_watch_cache() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (Listed("10"), "replace at 10, watch 10"),
            (expired(), "wait 800ms"),
            (Waited, "list 10"),
            (expired(), "list newest by 500"),
            (Page("30", "t1"), "page t1 by 500"),
            (Listed("30"), "replace at 30, watch 30"),
            (bad_data(), "wait 1.6s"),
            (Waited, "list 30"),
        ],
    );
}

#[test]
fn an_expired_page_leads_to_one_unpaged_list_at_the_same_version() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (Page("10", "t1"), "page t1 by 500"),
            (expired(), "list 0"),
            (Listed("12"), "replace at 12, watch 12"),
            (bad_data(), "wait 800ms"),
            (Waited, "list 12 by 500"),
            (Page("13", "t1"), "page t1 by 500"),
            (expired(), "list 12"),
            (expired(), "list newest by 500"),
            (Page("15", "t1"), "page t1 by 500"),
            (expired(), "wait 1.6s"),
            (Waited, "list newest by 500"),
            (Page("15", "t1"), "page t1 by 500"),
            (expired(), "list newest"),
            (expired(), "wait 3.2s"),
            (Waited, "list newest by 500"),
        ],
    );
}

/// A mix of versions would violate the prefix.
#[test]
fn contract_1_pages_of_different_versions_lead_to_one_unpaged_list() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (Page("10", "t1"), "page t1 by 500"),
            (Page("10", "t2"), "page t2 by 500"),
            (Listed("11"), "list 0 !bad data"),
            (Page("11", "t1"), "page t1"),
            (Listed("12"), "wait 800ms !bad data"),
        ],
    );
}

#[test]
fn the_configured_page_size_applies_to_every_list() {
    let by_four = Settings {
        page_size: PageSize::objects(4),
        ..plain()
    };
    play(
        by_four,
        "list 0 by 4",
        &[
            (Page("10", "t1"), "page t1 by 4"),
            (Listed("10"), "replace at 10, watch 10"),
            (bad_data(), "wait 800ms"),
            (Waited, "list 10 by 4"),
            (expired(), "list newest by 4"),
        ],
    );
}

#[test]
fn unpaged_lists_have_no_limit() {
    let unpaged = Settings {
        page_size: PageSize::Unlimited,
        ..plain()
    };
    play(
        unpaged,
        "list 0",
        &[
            (Listed("10"), "replace at 10, watch 10"),
            (bad_data(), "wait 800ms"),
            (Waited, "list 10"),
            (expired(), "list newest"),
        ],
    );
}

#[test]
fn a_page_size_of_zero_is_the_default() {
    assert_eq!(PageSize::objects(0), PageSize::Default);
    assert_eq!(PageSize::Default.for_checks(), 500);
    assert_eq!(PageSize::Unlimited.for_checks(), 500);
    assert_eq!(PageSize::objects(7).for_checks(), 7);
}

#[test]
fn contract_9_a_duplicate_continue_token_ends_the_list() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (Page("10", "t1"), "page t1 by 500"),
            (Page("10", "t1"), "wait 800ms !bad data"),
            (Waited, "list 0 by 500"),
            (Page("10", "t1"), "page t1 by 500"),
            (Page("10", "t2"), "page t2 by 500"),
            (Page("10", "t1"), "wait 1.6s !bad data"),
        ],
    );
}

#[test]
fn contract_9_empty_pages_are_requested_slowly() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (EmptyPage("10", "t1"), "wait 1s"),
            (Waited, "page t1 by 500"),
            (EmptyPage("10", "t2"), "wait 1s"),
            (Waited, "page t2 by 500"),
            (Page("10", "t3"), "page t3 by 500"),
            (Listed("10"), "replace at 10, watch 10"),
        ],
    );
}

#[test]
fn contract_9_an_expired_slow_page_is_handled_as_an_expired_page() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (EmptyPage("10", "t1"), "wait 1s"),
            (Waited, "page t1 by 500"),
            (expired(), "list 0"),
        ],
    );
}

#[test]
fn a_failed_list_is_restarted_after_a_wait() {
    let failures = [
        answers(400),
        answers(401),
        answers(403),
        answers(429),
        answers(500),
        answers(503),
        refused(),
        broke(),
        bad_data(),
        Failed(Error::user_code("the transform failed")),
    ];
    for failure in failures {
        play(
            plain(),
            "list 0 by 500",
            &[
                (failure.clone(), "wait 800ms"),
                (Waited, "list 0 by 500"),
                (Page("10", "t1"), "page t1 by 500"),
                (failure.clone(), "wait 1.6s"),
                (Waited, "list 0 by 500"),
                (failure, "wait 3.2s"),
            ],
        );
    }
}

#[test]
fn a_list_without_a_response_for_a_minute_is_restarted() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (Nothing, "60s: wait 800ms !transport"),
            (Waited, "list 0 by 500"),
            (Page("10", "t1"), "page t1 by 500"),
            (seconds(59), "good"),
            (Nothing, "60s: wait 1.6s !transport"),
        ],
    );
}

#[test]
fn retry_after_is_honoured_up_to_two_minutes() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (answers_later(429, 7), "wait 7s"),
            (Waited, "list 0 by 500"),
            (answers_later(503, 1), "wait 1.6s"),
            (Waited, "list 0 by 500"),
            (answers_later(429, 86_400), "wait 120s"),
            (Waited, "list 0 by 500"),
            (answers_later(429, u64::MAX), "wait 120s"),
        ],
    );
}

#[test]
fn contract_2_an_older_list_is_rejected_unless_the_server_went_back() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (Listed("20"), "replace at 20, watch 20"),
            (bad_data(), "wait 800ms"),
            (Waited, "list 20"),
            (Listed("15"), "list newest by 500 !behind"),
            (Listed("15"), "list newest by 500 !went back"),
            (Listed("15"), "replace at 15, watch 15"),
            (Opened, "good"),
            (bad_data(), "wait 1.6s"),
            (Waited, "list 15"),
        ],
    );
}

/// A restored server assigns versions again, so a cached version may belong to another state.
#[test]
fn contract_2_a_server_that_went_back_is_listed_once_more() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (Listed("20"), "replace at 20, watch 20"),
            (expired(), "wait 800ms"),
            (Waited, "list 20"),
            (expired(), "list newest by 500"),
            (Listed("15"), "list newest by 500 !went back"),
            (bad_data(), "wait 1.6s"),
            (Waited, "list newest by 500"),
            (Listed("16"), "replace at 16, watch 16"),
        ],
    );
}

#[test]
fn contract_2_a_lagging_server_does_not_move_the_cache_back() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (Listed("20"), "replace at 20, watch 20"),
            (bad_data(), "wait 800ms"),
            (Waited, "list 20"),
            (Listed("15"), "list newest by 500 !behind"),
            (Listed("22"), "replace at 22, watch 22"),
        ],
    );
}

/// A server that was restored from a backup may have passed the cached version before it is listed.
#[test]
fn contract_2_a_list_of_another_history_is_requested_once_more() {
    let [ahead, ..] = too_large();
    for older in [Listed("15"), ahead] {
        let mut play = play(
            plain(),
            "list 0 by 500",
            &[
                (Listed("20"), "replace at 20, watch 20"),
                (bad_data(), "wait 800ms"),
                (Waited, "list 20"),
            ],
        );
        play.apply(older);
        assert_eq!(describe(&play.action), "list newest by 500");
        play.run(&[
            (ListedAnother("22"), "list newest by 500 !went back"),
            (Listed("22"), "replace at 22, watch 22"),
        ]);
    }
}

#[test]
fn contract_5_a_list_that_trickles_ends_after_half_an_hour() {
    let mut play = play(plain(), "list 0 by 500", &[]);
    play.run(&[(seconds(1_750), "good"), (Nothing, "50s: wait 800ms !transport")]);
    play.run(&[
        (Waited, "list 0 by 500"),
        (seconds(1_799), "good"),
        (Page("10", "t1"), "page t1 by 500"),
        (Nothing, "60s: wait 1.6s !transport"),
    ]);
}

#[test]
fn contract_5_the_time_of_a_page_begins_after_the_pause_before_it() {
    let mut play = play(plain(), "list 0 by 500", &[]);
    play.run(&[
        (EmptyPage("10", "t1"), "wait 1s"),
        (Waited, "page t1 by 500"),
        (seconds(1_750), "good"),
        (Nothing, "50s: wait 800ms !transport"),
    ]);
}

/// Requests of a list with small pages are slowed down.
#[test]
fn contract_9_after_twenty_pages_with_few_objects_there_is_a_pause_before_each() {
    let mut play = play(plain(), "list 0 by 500", &[]);
    let mut page = |number: u32, items| play.page("10", Some(&format!("t{number}")), items, false);
    for number in 0..100 {
        assert_eq!(page(number, 50), format!("page t{number} by 500"));
    }
    for number in 100..120 {
        assert_eq!(page(number, 49), format!("page t{number} by 500"));
    }
    assert_eq!(page(120, 49), "wait 1s");
    play.run(&[(Waited, "page t120 by 500"), (Page("10", "t121"), "wait 1s")]);
}

#[test]
fn contract_5_a_list_whose_pages_trickle_ends_after_two_hours() {
    let mut play = play(plain(), "list 0 by 500", &[]);
    for token in ["t1", "t2", "t3", "t4"] {
        play.run(&[(seconds(1_790), "good")]);
        play.apply(Page("10", token));
    }
    play.run(&[(Nothing, "40s: wait 800ms !transport")]);
}

/// Every sign of a lagging or restored server causes the next list to be compared with the cache.
#[test]
fn contract_2_older_versions_are_remembered_until_the_next_list() {
    let [ahead, ..] = too_large();
    let relist = [
        (Listed("20"), "replace at 20, watch 20"),
        (bad_data(), "wait 800ms"),
        (Waited, "list 20"),
    ];
    let watch = [(Listed("20"), "replace at 20, watch 20"), (Opened, "good")];
    for (rows, older) in [
        (&relist[..], Listed("15")),
        (&relist, ahead.clone()),
        (&relist, answers(422)),
        (&watch, ahead.clone()),
        (&watch, Changed("15")),
        (&watch, Bookmark("15")),
    ] {
        let mut play = play(plain(), "list 0 by 500", rows);
        assert!(!play.contradicts("15"), "{older:?}");
        play.apply(older.clone());
        if matches!(play.action, Action::Wait(_)) {
            play.apply(Waited);
        }
        for (version, contradicts) in [("15", true), ("20", true), ("21", false), ("x", false)] {
            let found = play.contradicts(version);
            assert_eq!(found, contradicts, "{version} after {older:?}");
        }
    }
}

#[test]
fn unordered_versions_are_accepted_in_order_of_arrival() {
    play(
        plain(),
        "list 0 by 500",
        &[
            (Listed("b7"), "replace at b7, watch b7"),
            (bad_data(), "wait 800ms"),
            (Waited, "list b7"),
            (Listed("a1"), "replace at a1, watch a1"),
        ],
    );
}
