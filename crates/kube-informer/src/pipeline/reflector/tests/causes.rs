//! Tests of the causes of relists.

use super::table::ServerAction::{self, *};
use super::table::{Action, MachineTest};
use super::table::{answers, bad_data, broke, describe, expired, plain, play, seconds, steady, too_large};
use crate::measures::RelistCause;

/// Returns a machine that watches from version 10.
fn watching(streaming: bool) -> MachineTest {
    let play = if streaming {
        play(
            steady(),
            "stream newest",
            &[(Opened, "good"), (InitialEnd("10"), "replace at 10")],
        )
    } else {
        play(
            plain(),
            "list 0 by 500",
            &[(Listed("10"), "replace at 10, watch 10"), (Opened, "good")],
        )
    };
    assert_eq!(play.cause, None, "the first list is not a relist");
    play
}

/// Returns the cause of the next successful list after these server actions during a watch.
fn cause_of(streaming: bool, actions: &[ServerAction]) -> Option<RelistCause> {
    let mut play = watching(streaming);
    for deed in actions {
        play.apply(deed.clone());
        if matches!(play.action, Action::Wait(_)) {
            play.apply(Waited);
        }
    }
    relist(&mut play, actions);
    play.cause
}

/// Responds to the next list request of the machine.
fn relist(play: &mut MachineTest, actions: &[ServerAction]) {
    let answer = match &play.action {
        Action::List { .. } => play.apply(Listed("20")),
        Action::Watch { request, .. } if request.initial_events => {
            play.apply(Opened);
            play.apply(InitialEnd("20"))
        }
        other => panic!("no list after {actions:?}, but {}", describe(other)),
    };
    assert!(answer.starts_with("replace at 20"), "{actions:?}: {answer}");
}

#[test]
fn relists_have_a_cause() {
    let not_served = [answers(404), Discovered(Some(false))];
    let broken_often: Vec<ServerAction> = std::iter::repeat_n([broke(), Opened], 5).flatten().collect();
    for streaming in [false, true] {
        let cases: [(RelistCause, &[ServerAction]); 9] = [
            (RelistCause::Expired, &[expired()]),
            (RelistCause::Expired, &[expired(), answers(500), answers(503)]),
            (RelistCause::Behind, &[Changed("11"), Changed("9")]),
            (RelistCause::Failed, &[bad_data()]),
            (RelistCause::Failed, &[answers(403)]),
            (RelistCause::Fruitless, &broken_often[..9]),
            (RelistCause::Silent, &[seconds(700), Closed]),
            (RelistCause::Absent, &not_served),
            (RelistCause::Silent, &[Bookmark("11"), Nothing, Opened, Nothing]),
        ];
        for (cause, actions) in cases {
            assert_eq!(cause_of(streaming, actions), Some(cause), "{actions:?}");
        }
        for ahead in too_large() {
            assert_eq!(cause_of(streaming, &[ahead]), Some(RelistCause::Behind));
        }
        let mut play = watching(streaming);
        play.start_over();
        relist(&mut play, &[]);
        assert_eq!(play.cause, Some(RelistCause::Inconsistent));
        // The next relist has its own cause.
        if !streaming {
            play.apply(Opened);
        }
        play.apply(bad_data());
        play.apply(Waited);
        relist(&mut play, &[]);
        assert_eq!(play.cause, Some(RelistCause::Failed));
    }
}

#[test]
fn a_renewed_watch_is_not_a_relist() {
    for deed in [broke(), answers(429)] {
        let mut play = watching(true);
        play.apply(deed);
        play.apply(Waited);
        assert_eq!(describe(&play.action), "watch 10");
        assert_eq!(play.cause, None);
    }
}
