//! Draws plans.

use std::time::Duration;

use fastrand::Rng;
use kube_embedded::Fault;

use super::{
    FaultPlan, HandlerPlan, InformerPlan, Kind, Manner, NAMES, NAMESPACES, Pace, Plan, Step, Target,
};
use crate::truth::Selection;

impl Plan {
    /// Draws a run.
    #[must_use]
    pub fn draw(seed: u64) -> Plan {
        let mut random = Rng::with_seed(seed);
        let random = &mut random;
        let informers = (0..random.usize(1..=3))
            .map(|_| informer(random))
            .collect::<Vec<_>>();
        let count = random.usize(20..=140);
        let mut steps: Vec<Step> = (0..random.usize(0..=10)).map(|_| write(random)).collect();
        // Some begin in trouble.
        if random.u8(..4) == 0 {
            steps.push(trouble(random));
        }
        for informer in 0..informers.len() {
            for _ in 0..random.usize(1..=2) {
                steps.push(join(random, informer));
            }
        }
        let mood = Mood::draw(random);
        for _ in 0..count {
            if random.u32(..100) < mood.disasters {
                steps.extend(disaster(random, informers.len()));
            }
            steps.push(mood.step(random, informers.len()));
        }
        Plan {
            seed,
            history: if random.bool() {
                random.usize(3..=30)
            } else {
                10_000
            },
            bookmarks: Duration::from_millis(random.u64(500..=90_000)),
            informers,
            steps,
        }
    }
}

/// How likely things are in a run: some are full of faults, some of writes, some of comings and goings.
#[derive(Debug)]
struct Mood {
    writes: u32,
    troubles: u32,
    comings: u32,
    pauses: u32,
    /// In a hundred steps.
    disasters: u32,
}

impl Mood {
    fn draw(random: &mut Rng) -> Mood {
        Mood {
            writes: random.u32(10..=60),
            troubles: random.u32(0..=20),
            comings: random.u32(0..=12),
            pauses: random.u32(10..=40),
            disasters: random.u32(0..=6),
        }
    }

    fn step(&self, random: &mut Rng, informers: usize) -> Step {
        let mut draw = random.u32(..=self.writes + self.troubles + self.comings + self.pauses);
        let mut is = |weight: u32| {
            let hit = draw < weight;
            draw = draw.wrapping_sub(weight);
            hit
        };
        if is(self.writes) {
            return write(random);
        }
        if is(self.troubles) {
            return trouble(random);
        }
        if is(self.comings) {
            let informer = random.usize(..informers);
            return match random.u8(..8) {
                0..4 => join(random, informer),
                4..7 => Step::Leave {
                    informer,
                    handler: random.usize(..4),
                    waits: random.bool(),
                },
                _ => Step::Restart { informer },
            };
        }
        if is(self.pauses) {
            return match random.u8(..8) {
                0..3 => Step::Turns(random.u32(1..=20)),
                3..6 => Step::Pause(Duration::from_millis(random.u64(1..=2_000))),
                6 => Step::Pause(Duration::from_secs(random.u64(2..=60))),
                _ => Step::Pause(Duration::from_secs(random.u64(60..=900))),
            };
        }
        Step::Settle
    }
}

fn write(random: &mut Rng) -> Step {
    let key = random.usize(..NAMESPACES.len() * NAMES.len());
    match random.u8(..16) {
        0..10 => Step::Write {
            key,
            is_chosen: random.u8(..3) > 0,
        },
        10..14 => Step::Delete { key },
        14 => Step::Recreate { key },
        _ => Step::Advance(random.u64(1..=50)),
    }
}

fn trouble(random: &mut Rng) -> Step {
    match random.u8(..20) {
        0..10 => Step::Fault(fault(random)),
        10..13 => Step::Heal,
        13 | 14 => Step::Cut,
        15 => Step::Compact,
        16 => Step::Down,
        17 => Step::Up,
        18 => Step::Backup,
        _ => Step::Restore,
    }
}

/// What seldom comes together by chance, and does in life.
fn disaster(random: &mut Rng, informers: usize) -> Vec<Step> {
    let fault = |target, fault, times| {
        Step::Fault(FaultPlan {
            target,
            fault,
            times,
            after: 0,
        })
    };
    let few = Some(random.usize(1..=4));
    let mut steps = match random.u8(..5) {
        // A server that is behind is asked for a list, because the watch broke.
        0 => vec![
            fault(Target::Lists, Fault::StaleList(random.u64(1..=12)), few),
            fault(Target::Streams, Fault::NoStreamingList, None),
            fault(Target::Watches, Fault::ErrorAfterEvents(0), few),
            Step::Cut,
        ],
        // A list breaks off in the middle, and something is gone when it is made again.
        1 => vec![
            fault(Target::Streams, Fault::NoStreamingList, None),
            fault(Target::LaterPages, Fault::unavailable(), few),
            Step::Compact,
            Step::Cut,
            Step::Pause(Duration::from_millis(random.u64(1..=500))),
            Step::Delete {
                key: random.usize(..NAMESPACES.len() * NAMES.len()),
            },
        ],
        // Nothing works for a while.
        2 => {
            let what = match random.u8(..5) {
                0 => Fault::unavailable(),
                1 => Fault::Drop,
                2 => Fault::CloseAfterEvents(0),
                3 => Fault::ExpireAfterEvents(0),
                _ => Fault::BrokenJson(0),
            };
            vec![fault(Target::Both, what, None), Step::Cut]
        }
        // An informer begins while the server is away.
        3 => vec![
            Step::Down,
            Step::Restart {
                informer: random.usize(..informers),
            },
        ],
        // Everything at once.
        _ => vec![Step::Down, Step::Compact],
    };
    steps.extend((0..random.usize(..4)).map(|_| write(random)));
    steps.push(Step::Pause(Duration::from_millis(random.u64(1..=60_000))));
    steps.push(if random.bool() { Step::Heal } else { Step::Up });
    steps
}

fn fault(random: &mut Rng) -> FaultPlan {
    let events = random.usize(..5);
    let fault = match random.u8(..30) {
        0 => Fault::Drop,
        1 => Fault::Delay(Duration::from_millis(random.u64(1..=40_000))),
        2 => Fault::unauthorized(),
        3 => Fault::forbidden(),
        4 => Fault::not_found(),
        5 => Fault::expired(),
        6 => Fault::too_many_requests(random.u32(..5)),
        7 => Fault::internal_error(),
        8 => Fault::unavailable(),
        9 => Fault::TooLargeVersion,
        10 | 29 => Fault::CutAfterBytes(random.usize(..4_000)),
        11 => Fault::Drip(
            random.usize(50..1_000),
            Duration::from_millis(random.u64(1..=300)),
        ),
        12 | 13 => Fault::CutAfterEvents(events),
        14 | 15 => Fault::CloseAfterEvents(events),
        16 => Fault::SilenceAfterEvents(events),
        17 => Fault::ExpireAfterEvents(events),
        18 => Fault::ErrorAfterEvents(events),
        19 => Fault::NoBookmarks,
        20 => Fault::NoStreamingList,
        21 => Fault::IgnoreStreamingList,
        22 | 23 => Fault::StaleList(random.u64(1..=12)),
        24 => Fault::DuplicateEvents,
        25 => match random.u8(..3) {
            0 => Fault::WrongKind,
            1 => Fault::NoMetadata,
            _ => Fault::UnwantedTable,
        },
        26 => Fault::BrokenJson(events),
        27 => Fault::Oversized(random.usize(1..=50_000)),
        _ => Fault::Compact,
    };
    let target = match random.u8(..10) {
        0 | 1 => Target::Lists,
        2 | 8 | 9 => Target::LaterPages,
        3 | 4 => Target::Watches,
        5 => Target::Streams,
        6 => Target::Both,
        // When discovery does not know the kind either, there is none, and an empty cache is right.
        _ if matches!(fault, Fault::Fail { code: 404, .. }) => Target::Both,
        _ => Target::Everything,
    };
    FaultPlan {
        target,
        fault,
        times: (random.u8(..5) > 0).then(|| random.usize(1..=4)),
        after: if random.bool() { 0 } else { random.usize(..3) },
    }
}

fn informer(random: &mut Rng) -> InformerPlan {
    let selection = match random.u8(..6) {
        0..3 => Selection::Everything,
        3 => Selection::Namespaces(vec![NAMESPACES[random.usize(..3)].to_owned()]),
        4 => Selection::Namespaces(NAMESPACES[..2].iter().map(ToString::to_string).collect()),
        _ => Selection::Chosen,
    };
    InformerPlan {
        kind: match random.u8(..6) {
            0 | 1 => Kind::Typed,
            2 | 3 => Kind::Packed,
            4 => Kind::Metadata,
            _ => Kind::Dynamic,
        },
        selection,
        json: random.bool(),
        streams: random.bool(),
        page: random.u32(..5),
        resync: if random.bool() {
            Duration::ZERO
        } else {
            Duration::from_secs(random.u64(5..=300))
        },
        works: random.bool(),
    }
}

fn join(random: &mut Rng, informer: usize) -> Step {
    let manner = match random.u8(..4) {
        0 | 1 => Manner::Inline,
        2 => Manner::Async,
        _ => Manner::Stream,
    };
    let pace = match random.u8(..6) {
        _ if manner == Manner::Inline => Pace::Quick,
        0..3 => Pace::Quick,
        3 | 4 => Pace::Slow(Duration::from_millis(random.u64(1..=5_000))),
        _ => Pace::Stuck,
    };
    Step::Join {
        informer,
        handler: HandlerPlan {
            manner,
            every: random.u8(..4) == 0,
            resync: (random.u8(..4) == 0).then(|| Duration::from_secs(random.u64(1..=120))),
            pace,
            panics: (manner != Manner::Stream && random.u8(..4) == 0).then(|| random.u32(1..=6)),
            leaves_after: (random.u8(..8) == 0).then(|| random.u32(1..=20)),
        },
    }
}
