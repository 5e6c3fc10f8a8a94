//! Earlier findings of the simulator, each as the shortest plan that reproduced it.

use std::time::Duration;

use sim::{
    HandlerKind, HandlerPlan, InformerPlan, ObjectFormat, Pace, Plan, Selection, Step, TransformPlan, play,
};

/// Returns a plan with one informer of all objects.
fn plan(steps: impl IntoIterator<Item = Step>) -> Plan {
    Plan {
        seed: 1,
        history: 1_000,
        bookmarks: Duration::from_mins(1),
        is_custom: false,
        objects: 0,
        padding: 0,
        lasting: None,
        informers: vec![InformerPlan {
            format: ObjectFormat::Decoded,
            selection: Selection::Everything,
            json: false,
            streams: true,
            page: 0,
            resync: Duration::ZERO,
            works: false,
            has_index: false,
            transform: TransformPlan::None,
            prunes_data: false,
            keeps_managed_fields: false,
            check_every: None,
            from_factory: false,
        }],
        steps: steps.into_iter().collect(),
    }
}

fn assert_holds(plan: &Plan) {
    let outcome = play(plan, true);
    assert_eq!(outcome.finding, None, "{}", outcome.log.join("\n"));
}

#[test]
fn contract_11_a_handler_that_has_left_but_still_runs_is_awaited() {
    let handler = HandlerPlan {
        kind: HandlerKind::Async,
        every_event: false,
        resync: None,
        is_filtered: false,
        pace: Pace::Slow(Duration::from_secs(5)),
        panics: None,
        leaves_after: Some(1),
    };
    let write = Step::Write {
        key: 0,
        is_chosen: true,
        is_poisoned: false,
    };
    assert_holds(&plan([
        write,
        Step::Join { informer: 0, handler },
        Step::Turns(20),
    ]));
}
