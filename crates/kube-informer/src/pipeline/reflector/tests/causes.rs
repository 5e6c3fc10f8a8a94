//! Why informers relist.

use super::table::Did::{self, *};
use super::table::{Action, Play};
use super::table::{answers, bad_data, broke, describe, expired, plain, play, seconds, steady, too_large};
use crate::measures::RelistCause;

/// A machine that watches from version 10, by the first list or stream.
fn watching(streaming: bool) -> Play {
    let play = if streaming {
        play(
            steady(),
            "stream newest",
            &[(Opened, "good"), (InitialEnd("10"), "whole at 10")],
        )
    } else {
        play(
            plain(),
            "list 0 by 500",
            &[(Listed("10"), "whole at 10, watch 10"), (Opened, "good")],
        )
    };
    assert_eq!(play.cause, None, "the first list is no relist");
    play
}

/// What the cause of the next list is that succeeds, after the server did this to a watch.
fn cause_of(streaming: bool, deeds: &[Did]) -> Option<RelistCause> {
    let mut play = watching(streaming);
    for deed in deeds {
        play.tell(deed.clone());
        if matches!(play.action, Action::Wait(_)) {
            play.tell(Waited);
        }
    }
    relist(&mut play, deeds);
    play.cause
}

/// Answers the list that the machine requests next.
fn relist(play: &mut Play, deeds: &[Did]) {
    let answer = match &play.action {
        Action::List { .. } => play.tell(Listed("20")),
        Action::Watch { request, .. } if request.initial_events => {
            play.tell(Opened);
            play.tell(InitialEnd("20"))
        }
        other => panic!("{deeds:?} lead to no list, but to {}", describe(other)),
    };
    assert!(answer.starts_with("whole at 20"), "{deeds:?}: {answer}");
}

#[test]
fn relists_know_why_they_were_made() {
    let not_served = [answers(404), Discovered(Some(false))];
    let broken_often: Vec<Did> = std::iter::repeat_n([broke(), Opened], 5).flatten().collect();
    for streaming in [false, true] {
        let cases: [(RelistCause, &[Did]); 9] = [
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
        for (cause, deeds) in cases {
            assert_eq!(cause_of(streaming, deeds), Some(cause), "{deeds:?}");
        }
        for ahead in too_large() {
            assert_eq!(cause_of(streaming, &[ahead]), Some(RelistCause::Behind));
        }
        let mut play = watching(streaming);
        play.start_over();
        relist(&mut play, &[]);
        assert_eq!(play.cause, Some(RelistCause::Inconsistent));
        // The next relist has a cause of its own.
        if !streaming {
            play.tell(Opened);
        }
        play.tell(bad_data());
        play.tell(Waited);
        relist(&mut play, &[]);
        assert_eq!(play.cause, Some(RelistCause::Failed));
    }
}

#[test]
fn a_watch_that_goes_on_is_no_relist() {
    for deed in [broke(), answers(429)] {
        let mut play = watching(true);
        play.tell(deed);
        play.tell(Waited);
        assert_eq!(describe(&play.action), "watch 10");
        assert_eq!(play.cause, None);
    }
}
