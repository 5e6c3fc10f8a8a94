use std::sync::Arc;

use kube_informer::{Key, ResourceVersion};

use super::{everything, key, reported, state};
use crate::{CacheChecker, CacheContents, Collection, Findings, HistoryView, ServerHistory};

fn contents(version: u64, objects: Collection) -> CacheContents {
    CacheContents {
        version: Some(ResourceVersion::from(version.to_string())),
        objects,
    }
}

/// `x` is created at 1 and changed at 3, `y` exists from 2 to 4.
fn history() -> ServerHistory {
    let mut history = ServerHistory::default();
    history.record(1, &key("x"), Some(state(1, "a", 1)));
    history.record(2, &key("y"), Some(state(2, "b", 2)));
    history.record(3, &key("x"), Some(state(3, "a", 3)));
    history.record(4, &key("y"), None);
    history
}

fn checker(view: Option<&HistoryView>, namespaces: &[&str]) -> (CacheChecker, Arc<Findings>) {
    let findings = Arc::new(Findings::default());
    let namespaces = namespaces.iter().map(ToString::to_string).collect();
    let checker = CacheChecker::new("cache", &findings, view.cloned(), namespaces);
    (checker, findings)
}

#[test]
fn contract_1_the_collection_of_one_version_is_accepted_and_a_mix_is_reported() {
    let view = everything(history());
    let (mut checker, findings) = checker(Some(&view), &[]);
    let at_two: Collection = [(key("x"), state(1, "a", 1)), (key("y"), state(2, "b", 2))].into();
    checker.check(&contents(2, at_two.clone()), 0);
    assert_eq!(reported(&findings), [0; 0]);
    checker.check(&contents(3, at_two), 0);
    assert_eq!(reported(&findings), [1]);
}

#[test]
fn contract_1_another_uid_with_the_same_version_is_reported() {
    let view = everything(history());
    let (mut checker, findings) = checker(Some(&view), &[]);
    checker.check(&contents(4, [(key("x"), state(3, "other", 3))].into()), 0);
    assert_eq!(reported(&findings), [1]);
}

#[test]
fn contract_2_an_older_version_is_reported_unless_the_informer_says_so() {
    let (mut checker, findings) = checker(None, &[]);
    checker.check(&contents(4, Collection::new()), 0);
    checker.check(&contents(3, Collection::new()), 1);
    assert_eq!(reported(&findings), [0; 0]);
    checker.check(&contents(2, Collection::new()), 1);
    assert_eq!(reported(&findings), [2]);
}

#[test]
fn contract_2_a_report_of_a_server_that_did_not_go_back_is_reported() {
    let view = everything(history());
    let (mut checker, findings) = checker(Some(&view), &[]);
    checker.check(&contents(4, [(key("x"), state(3, "a", 3))].into()), 1);
    assert_eq!(reported(&findings), [2]);
}

#[test]
fn contract_2_a_restore_with_newer_versions_is_noticed_only_by_a_selected_object_that_returns() {
    let (x, y) = (state(3, "a", 3), state(2, "b", 2));
    let reported_after = |backup: Collection, namespaces: &[&str]| {
        let view = everything(history());
        let (mut checker, findings) = checker(Some(&view), namespaces);
        view.history.lock().restored(1_000, &backup, true);
        checker.check(&contents(1_000, backup), 1);
        reported(&findings)
    };
    let unchanged: Collection = [(key("x"), x.clone())].into();
    let returned: Collection = [(key("x"), x), (key("y"), y)].into();
    assert_eq!(reported_after(unchanged, &[]), [2]);
    assert_eq!(reported_after(Collection::new(), &[]), [2]);
    assert_eq!(reported_after(returned.clone(), &[]), [0; 0]);
    assert_eq!(reported_after(returned, &["east", "west"]), [0; 0]);
}

#[test]
fn contract_1_after_a_restore_both_eras_are_known() {
    let view = everything(history());
    let (mut checker, findings) = checker(Some(&view), &[]);
    let newest: Collection = [(key("x"), state(3, "a", 3))].into();
    let backup: Collection = [(key("x"), state(1, "a", 1))].into();
    view.history.lock().restored(1, &backup, false);
    view.history.lock().record(2, &key("z"), Some(state(2, "z", 5)));
    checker.check(&contents(4, newest.clone()), 0);
    checker.check(&contents(1, backup), 1);
    assert_eq!(reported(&findings), [0; 0]);
    // Once the cache follows the restored server, it must not return to the lost era.
    checker.check(&contents(4, newest), 1);
    assert_eq!(reported(&findings), [1]);
}

#[test]
fn contract_1_each_of_several_namespaces_is_at_a_version_of_its_own() {
    let mut changes = history();
    let west = Key::namespaced("west", "w");
    changes.record(5, &west, Some(state(5, "w", 5)));
    let view = everything(changes);
    let (mut checker, findings) = checker(Some(&view), &["east", "west"]);
    let mixed: Collection = [(key("x"), state(1, "a", 1)), (west.clone(), state(5, "w", 5))].into();
    checker.check(&contents(1, mixed), 0);
    assert_eq!(reported(&findings), [0; 0]);
    let foreign = [(Key::namespaced("north", "n"), state(1, "a", 1))].into();
    checker.check(&contents(1, foreign), 0);
    assert_eq!(reported(&findings), [1]);
}

#[test]
fn contract_1_a_cache_is_empty_when_its_kind_is_not_served() {
    let view = everything(history());
    let (mut checker, findings) = checker(Some(&view), &[]);
    checker.check(&contents(3, Collection::new()), 0);
    assert_eq!(reported(&findings), [1]);
    view.history.lock().kind_removed(5);
    checker.check(&contents(3, Collection::new()), 0);
    assert_eq!(reported(&findings), [1]);
}
