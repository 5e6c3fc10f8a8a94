use std::sync::Arc;

use super::{cached, everything, key, reported, state};
use crate::{
    CacheContents, CachedObject, Findings, HandlerChecker, HandlerRules, ObjectState, ObservedEvent,
    ServerHistory,
};

fn added(name: &str, state: &ObjectState, is_initial: bool) -> ObservedEvent {
    ObservedEvent::Added {
        key: key(name),
        state: state.clone(),
        is_initial,
    }
}

fn updated(name: &str, old: &ObjectState, new: &ObjectState, is_resync: bool) -> ObservedEvent {
    ObservedEvent::Updated {
        key: key(name),
        old: old.clone(),
        new: new.clone(),
        is_resync,
    }
}

fn deleted(name: &str, last: &ObjectState) -> ObservedEvent {
    ObservedEvent::Deleted {
        key: key(name),
        last_seen: last.clone(),
        last_state: last.clone(),
        is_final_state_unknown: false,
    }
}

/// Returns the violations of a handler with these rules for these events.
fn check(rules: HandlerRules, events: &[(ObservedEvent, CachedObject)]) -> Vec<u8> {
    let findings = Arc::new(Findings::default());
    let checker = HandlerChecker::new("handler", &findings, rules);
    for (event, cached) in events {
        checker.check(event, cached);
    }
    reported(&findings)
}

fn with_history(history: ServerHistory) -> HandlerRules {
    HandlerRules {
        history: Some(everything(history)),
        ..HandlerRules::default()
    }
}

fn resyncs() -> HandlerRules {
    HandlerRules {
        resyncs: true,
        ..HandlerRules::default()
    }
}

#[test]
fn contract_3_add_update_delete_is_accepted() {
    let (one, two) = (state(1, "a", 1), state(2, "a", 2));
    let events = [
        (added("x", &one, false), cached(1, Some(&one))),
        (updated("x", &one, &two, false), cached(2, Some(&two))),
        (deleted("x", &two), cached(3, None)),
    ];
    assert_eq!(check(HandlerRules::default(), &events), [0; 0]);
    let mut history = ServerHistory::default();
    history.record(1, &key("x"), Some(one));
    history.record(2, &key("x"), Some(two));
    history.record(3, &key("x"), None);
    assert_eq!(check(with_history(history), &events), [0; 0]);
}

#[test]
fn contract_3_events_that_are_no_history_are_reported() {
    let (one, two, three) = (state(1, "a", 1), state(2, "a", 2), state(3, "a", 3));
    let at = |state: &ObjectState| cached(3, Some(state));
    let first = (added("x", &one, false), at(&one));
    let again = [first.clone(), (added("x", &two, false), at(&two))];
    assert_eq!(check(HandlerRules::default(), &again), [3]);
    let unknown = [(updated("x", &one, &two, false), at(&two))];
    assert_eq!(check(HandlerRules::default(), &unknown), [3]);
    let gap = [first.clone(), (updated("x", &two, &three, false), at(&three))];
    assert_eq!(check(HandlerRules::default(), &gap), [3]);
    assert_eq!(
        check(HandlerRules::default(), &[(deleted("x", &one), cached(2, None))]),
        [3]
    );
    let other = state(2, "b", 2);
    let across = [first.clone(), (updated("x", &one, &other, false), at(&other))];
    assert_eq!(check(HandlerRules::default(), &across), [3]);
}

#[test]
fn contract_3_an_older_state_is_reported() {
    let (one, two) = (state(1, "a", 1), state(2, "a", 2));
    let events = [
        (added("x", &two, false), cached(2, Some(&two))),
        (updated("x", &two, &one, false), cached(2, Some(&two))),
    ];
    assert_eq!(check(HandlerRules::default(), &events), [3]);
    let mut history = ServerHistory::default();
    history.record(1, &key("x"), Some(one));
    history.record(2, &key("x"), Some(two));
    assert_eq!(check(with_history(history), &events), [3]);
}

#[test]
fn contract_4_an_event_before_the_cache_is_reported() {
    let (one, two) = (state(1, "a", 1), state(2, "a", 2));
    let events = [
        (added("x", &one, false), cached(1, Some(&one))),
        (updated("x", &one, &two, false), cached(1, Some(&one))),
    ];
    assert_eq!(check(HandlerRules::default(), &events), [4]);
    let early = [(added("x", &one, false), cached(1, None))];
    assert_eq!(check(HandlerRules::default(), &early), [4]);
    let mut history = ServerHistory::default();
    history.record(1, &key("x"), Some(one));
    history.record(2, &key("x"), Some(two));
    assert_eq!(check(with_history(history), &events), [4]);
}

#[test]
fn contract_10_an_unchanged_object_is_delivered_only_as_a_resync_that_was_asked_for() {
    let one = state(1, "a", 1);
    let again = |is_resync| {
        [
            (added("x", &one, false), cached(1, Some(&one))),
            (updated("x", &one, &one, is_resync), cached(1, Some(&one))),
        ]
    };
    assert_eq!(check(resyncs(), &again(true)), [0; 0]);
    assert_eq!(check(resyncs(), &again(false)), [10]);
    assert_eq!(check(HandlerRules::default(), &again(true)), [10]);
    assert_eq!(check(HandlerRules::default(), &again(false)), [10]);
}

#[test]
fn contract_3_a_resync_with_a_change_is_reported() {
    let (one, two) = (state(1, "a", 1), state(2, "a", 2));
    let events = [
        (added("x", &one, false), cached(1, Some(&one))),
        (updated("x", &one, &two, true), cached(2, Some(&two))),
    ];
    assert_eq!(check(resyncs(), &events), [3]);
}

#[test]
fn contract_2_a_server_that_went_back_delivers_unchanged_objects_once() {
    let one = state(1, "a", 1);
    let view = {
        let mut history = ServerHistory::default();
        history.record(1, &key("x"), Some(one.clone()));
        everything(history)
    };
    let rules = HandlerRules {
        history: Some(view.clone()),
        ..HandlerRules::default()
    };
    let findings = Arc::new(Findings::default());
    let checker = HandlerChecker::new("handler", &findings, rules);
    checker.check(&added("x", &one, false), &cached(1, Some(&one)));
    view.history
        .lock()
        .restored(1, &[(key("x"), one.clone())].into(), false);
    let again = updated("x", &one, &one, false);
    checker.check(&again, &cached(1, Some(&one)));
    assert_eq!(reported(&findings), [0; 0]);
    checker.check(&again, &cached(1, Some(&one)));
    assert_eq!(reported(&findings), [10]);
}

#[test]
fn contract_10_an_informer_without_a_report_delivers_no_unchanged_object_after_a_restore() {
    let one = state(1, "a", 1);
    let mut history = ServerHistory::default();
    history.record(1, &key("x"), Some(one.clone()));
    history.restored(1, &[(key("x"), one.clone())].into(), false);
    let rules = HandlerRules {
        history: Some(everything(history)),
        ..HandlerRules::default()
    };
    let events = |went_back| {
        let cache = CachedObject {
            went_back: Some(went_back),
            ..cached(1, Some(&one))
        };
        [
            (added("x", &one, false), cache.clone()),
            (updated("x", &one, &one, false), cache),
        ]
    };
    assert_eq!(check(rules.clone(), &events(1)), [0; 0]);
    assert_eq!(check(rules, &events(0)), [10]);
}

#[test]
fn contract_7_an_initial_add_comes_once_and_only_for_what_was_cached() {
    let one = state(1, "a", 1);
    let rules = HandlerRules {
        initial: Some([key("x")].into()),
        ..HandlerRules::default()
    };
    let cache = cached(2, Some(&one));
    assert_eq!(
        check(rules.clone(), &[(added("x", &one, true), cache.clone())]),
        [0; 0]
    );
    assert_eq!(
        check(rules.clone(), &[(added("y", &one, true), cache.clone())]),
        [7]
    );
    let twice = [
        (added("x", &one, true), cache.clone()),
        (deleted("x", &one), cached(3, None)),
        (
            added("x", &state(4, "b", 2), true),
            cached(4, Some(&state(4, "b", 2))),
        ),
    ];
    assert_eq!(check(rules, &twice), [7]);
}

#[test]
fn contract_8_synced_before_the_last_initial_add_is_reported() {
    let one = state(1, "a", 1);
    let rules = HandlerRules {
        initial: Some([key("x"), key("gone")].into()),
        ..HandlerRules::default()
    };
    let findings = Arc::new(Findings::default());
    let checker = HandlerChecker::new("handler", &findings, rules);
    let contents = CacheContents {
        version: Some(one.version.clone()),
        objects: [(key("x"), one.clone())].into(),
    };
    checker.check_synced(&contents);
    assert_eq!(reported(&findings), [8]);
    checker.check(&added("x", &one, true), &cached(1, Some(&one)));
    checker.check_synced(&contents);
    assert_eq!(reported(&findings), [8]);
}

#[test]
fn contract_5_a_last_event_that_is_not_the_cache_is_reported() {
    let (one, two) = (state(1, "a", 1), state(2, "a", 2));
    let findings = Arc::new(Findings::default());
    let checker = HandlerChecker::new("handler", &findings, HandlerRules::default());
    checker.check(&added("x", &one, false), &cached(1, Some(&one)));
    checker.check_settled(&[(key("x"), one)].into());
    assert_eq!(reported(&findings), [0; 0]);
    checker.check_settled(&[(key("x"), two)].into());
    assert_eq!(reported(&findings), [5]);
}

#[test]
fn contract_11_an_event_after_the_end_is_reported() {
    let one = state(1, "a", 1);
    let findings = Arc::new(Findings::default());
    let checker = HandlerChecker::new("handler", &findings, HandlerRules::default());
    checker.end("after it was removed");
    checker.check(&added("x", &one, false), &cached(1, Some(&one)));
    assert_eq!(reported(&findings), [11]);
}

#[test]
fn contract_3_events_out_of_the_servers_order_are_reported_until_a_relist() {
    let (one, two) = (state(1, "a", 1), state(2, "b", 2));
    let rules = HandlerRules {
        is_ordered: true,
        ..HandlerRules::default()
    };
    let cache = |state: &ObjectState, relists| CachedObject {
        relists,
        ..cached(2, Some(state))
    };
    let events = |relists| {
        [
            (added("y", &two, false), cache(&two, relists)),
            (added("x", &one, false), cache(&one, relists)),
        ]
    };
    assert_eq!(check(rules.clone(), &events(Some(0))), [3]);
    assert_eq!(check(rules.clone(), &events(Some(1))), [0; 0]);
    assert_eq!(check(rules, &events(None)), [0; 0]);
    assert_eq!(check(HandlerRules::default(), &events(Some(0))), [0; 0]);
}

/// A deletion that no event reported has the version of the last known state.
#[test]
fn contract_3_deletions_are_in_the_servers_order_if_they_were_observed() {
    let (one, two) = (state(1, "a", 1), state(2, "b", 2));
    let rules = HandlerRules {
        is_ordered: true,
        ..HandlerRules::default()
    };
    let deletion = |is_final_state_unknown| ObservedEvent::Deleted {
        key: key("x"),
        last_seen: one.clone(),
        last_state: one.clone(),
        is_final_state_unknown,
    };
    for (is_unknown, findings) in [(false, &[3][..]), (true, &[])] {
        let cache = |state| CachedObject {
            relists: Some(0),
            ..cached(3, state)
        };
        let events = [
            (added("x", &one, false), cache(Some(&one))),
            (added("y", &two, false), cache(Some(&two))),
            (deletion(is_unknown), cache(None)),
        ];
        assert_eq!(check(rules.clone(), &events), findings, "{is_unknown}");
    }
}
