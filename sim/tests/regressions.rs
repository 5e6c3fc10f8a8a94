//! What the simulator found once, as the shortest plan that showed it.

use std::time::Duration;

use sim::{HandlerPlan, InformerPlan, Kind, Manner, Pace, Plan, Selection, Step, play};

/// A plan with one informer of everything.
fn plan(steps: impl IntoIterator<Item = Step>) -> Plan {
    Plan {
        seed: 1,
        history: 1_000,
        bookmarks: Duration::from_mins(1),
        informers: vec![InformerPlan {
            kind: Kind::Typed,
            selection: Selection::Everything,
            json: false,
            streams: true,
            page: 0,
            resync: Duration::ZERO,
            works: false,
        }],
        steps: steps.into_iter().collect(),
    }
}

fn holds(plan: &Plan) {
    let ended = play(plan, None, true);
    assert_eq!(ended.violation, None, "{}", ended.story.join("\n"));
}

#[test]
fn contract_11_a_handler_that_has_left_but_still_runs_is_waited_for() {
    let handler = HandlerPlan {
        manner: Manner::Async,
        every: false,
        resync: None,
        pace: Pace::Slow(Duration::from_secs(5)),
        panics: None,
        leaves_after: Some(1),
    };
    let write = Step::Write {
        key: 0,
        is_chosen: true,
    };
    holds(&plan([
        write,
        Step::Join { informer: 0, handler },
        Step::Turns(20),
    ]));
}
