//! Draws plans.

use std::time::Duration;

use fastrand::Rng;

use super::{
    HandlerKind, HandlerPlan, InformerPlan, LastingFault, ObjectFormat, Pace, Plan, Selection, Step,
    TransformPlan,
};
use crate::objects::{FEW, NAMESPACES};

/// One in this many runs has many objects.
const LARGE: u32 = 150;

impl Plan {
    /// Draws a plan.
    #[must_use]
    pub fn draw(seed: u64) -> Plan {
        let mut drawer = Drawer {
            random: Rng::with_seed(seed),
            weights: Weights::default(),
            informers: 0,
            is_custom: false,
            is_checked: false,
            is_large: false,
        };
        drawer.plan(seed)
    }
}

/// Probabilities of steps in a run: some have many faults, some many writes, some many handlers that are
/// added and removed.
#[derive(Debug, Default)]
struct Weights {
    writes: u32,
    faults: u32,
    handlers: u32,
    reads: u32,
    pauses: u32,
    /// Percentage of steps.
    disasters: u32,
}

pub(super) struct Drawer {
    pub(super) random: Rng,
    weights: Weights,
    pub(super) informers: usize,
    pub(super) is_custom: bool,
    /// All informers compare their cache with the server, so that lost events are found.
    pub(super) is_checked: bool,
    is_large: bool,
}

impl Drawer {
    fn plan(&mut self, seed: u64) -> Plan {
        self.is_large = self.one_in(LARGE);
        self.is_custom = self.one_in(6);
        self.is_checked = self.one_in(8);
        self.informers = if self.is_large {
            1
        } else {
            self.random.usize(1..=3)
        };
        let informers: Vec<InformerPlan> = (0..self.informers).map(|_| self.informer()).collect();
        self.weights = Weights {
            writes: self.random.u32(10..=60),
            faults: self.random.u32(0..=20),
            handlers: self.random.u32(0..=12),
            reads: self.random.u32(0..=12),
            pauses: self.random.u32(10..=40),
            disasters: self.random.u32(0..=6),
        };
        let count = if self.is_large {
            self.random.usize(5..=20)
        } else {
            self.random.usize(20..=140)
        };
        let mut steps: Vec<Step> = (0..self.random.usize(0..=10)).map(|_| self.write()).collect();
        // Some runs start with a fault.
        if self.one_in(4) {
            steps.push(self.fault_step());
        }
        for informer in 0..self.informers {
            for _ in 0..self.random.usize(1..=2) {
                steps.push(self.join(informer));
            }
        }
        for _ in 0..count {
            if self.random.u32(..100) < self.weights.disasters {
                let disaster = self.disaster();
                steps.extend(disaster);
            }
            steps.push(self.step());
        }
        let has_short_history = self.random.bool();
        Plan {
            seed,
            history: if has_short_history {
                self.random.usize(3..=30)
            } else {
                10_000
            },
            bookmarks: Duration::from_millis(self.random.u64(500..=90_000)),
            is_custom: self.is_custom,
            objects: if self.is_large {
                self.random.usize(600..=3_000)
            } else {
                0
            },
            padding: if self.is_large || self.one_in(8) {
                self.random.usize(100..=800)
            } else {
                0
            },
            lasting: self.one_in(6).then(|| self.lasting()),
            informers,
            steps,
        }
    }

    pub(super) fn one_in(&mut self, count: u32) -> bool {
        self.random.u32(..count) == 0
    }

    pub(super) fn seconds(&mut self, range: std::ops::RangeInclusive<u64>) -> Duration {
        Duration::from_secs(self.random.u64(range))
    }

    pub(super) fn millis(&mut self, range: std::ops::RangeInclusive<u64>) -> Duration {
        Duration::from_millis(self.random.u64(range))
    }

    fn lasting(&mut self) -> LastingFault {
        LastingFault::ALL[self.random.usize(..LastingFault::ALL.len())]
    }

    fn step(&mut self) -> Step {
        let Weights {
            writes,
            faults,
            handlers,
            reads,
            pauses,
            ..
        } = self.weights;
        let mut draw = self.random.u32(..=writes + faults + handlers + reads + pauses);
        let mut is = |weight: u32| {
            let is_hit = draw < weight;
            draw = draw.wrapping_sub(weight);
            is_hit
        };
        let informer = self.random.usize(..self.informers);
        if is(writes) {
            return self.write();
        }
        if is(faults) {
            return self.fault_step();
        }
        if is(handlers) {
            return match self.random.u8(..8) {
                0..4 => self.join(informer),
                4..7 => Step::Leave {
                    informer,
                    handler: self.random.usize(..4),
                    waits: self.random.bool(),
                },
                _ => Step::Restart { informer },
            };
        }
        if is(reads) {
            return self.read(informer);
        }
        if is(pauses) {
            return match self.random.u8(..8) {
                0..3 => Step::Turns(self.random.u32(1..=20)),
                3..6 => Step::Pause(self.millis(1..=2_000)),
                6 => Step::Pause(self.seconds(2..=60)),
                _ => Step::Pause(self.seconds(60..=900)),
            };
        }
        Step::Settle
    }

    fn read(&mut self, informer: usize) -> Step {
        match self.random.u8(..10) {
            0 => Step::AddIndex { informer },
            1 | 2 => Step::HoldSnapshot { informer },
            3 => Step::DropSnapshots { informer },
            4..7 => Step::WaitForWrite {
                informer,
                key: self.random.usize(..FEW),
                timeout: self.millis(10..=300_000),
            },
            7 => Step::WaitForSync {
                informer,
                timeout: self.millis(1..=60_000),
            },
            _ => Step::CheckConsistency { informer },
        }
    }

    pub(super) fn write(&mut self) -> Step {
        let key = self.random.usize(..FEW);
        match self.random.u8(..17) {
            0..10 => Step::Write {
                key,
                is_chosen: self.random.u8(..3) > 0,
                is_poisoned: self.one_in(24),
            },
            10..14 => Step::Delete { key },
            14 => Step::Recreate { key },
            15 if self.is_large => {
                let (first, count) = (FEW, self.random.usize(100..=1_500));
                if self.random.bool() {
                    Step::WriteMany { first, count }
                } else {
                    Step::DeleteMany { first, count }
                }
            }
            15 => Step::WriteMany {
                first: self.random.usize(..FEW),
                count: self.random.usize(2..=6),
            },
            _ => Step::Advance(self.random.u64(1..=50)),
        }
    }

    fn informer(&mut self) -> InformerPlan {
        let selection = match self.random.u8(..6) {
            0..3 => Selection::Everything,
            3 => Selection::Namespaces(vec![NAMESPACES[self.random.usize(..3)].to_owned()]),
            4 => Selection::Namespaces(NAMESPACES[..2].iter().map(ToString::to_string).collect()),
            _ => Selection::Chosen,
        };
        let format = match self.random.u8(..6) {
            0 | 1 => ObjectFormat::Decoded,
            2 | 3 => ObjectFormat::Packed,
            4 => ObjectFormat::Metadata,
            _ => ObjectFormat::Dynamic,
        };
        let transform = match self.random.u8(..8) {
            0 => TransformPlan::Changes,
            1 => TransformPlan::Fails,
            2 => TransformPlan::Panics,
            _ => TransformPlan::None,
        };
        let is_checked = self.is_checked || self.one_in(12);
        InformerPlan {
            format,
            selection,
            json: self.random.bool(),
            streams: self.random.bool(),
            page: if self.is_large { 0 } else { self.random.u32(..5) },
            resync: if self.is_large || self.random.bool() {
                Duration::ZERO
            } else {
                self.seconds(5..=300)
            },
            works: self.random.bool() && !self.is_large,
            has_index: self.one_in(4),
            transform,
            prunes_data: self.one_in(6),
            keeps_managed_fields: self.one_in(6),
            check_every: is_checked.then(|| self.seconds(60..=300)),
            from_factory: self.one_in(6),
        }
    }

    fn join(&mut self, informer: usize) -> Step {
        let kind = match self.random.u8(..4) {
            0 | 1 => HandlerKind::Inline,
            2 => HandlerKind::Async,
            _ => HandlerKind::Stream,
        };
        let pace = match self.random.u8(..6) {
            _ if kind == HandlerKind::Inline => Pace::Quick,
            0..3 => Pace::Quick,
            // Slow handlers of many objects would take days of simulated time.
            3 | 4 if !self.is_large => Pace::Slow(self.millis(1..=5_000)),
            3 | 4 => Pace::Slow(self.millis(1..=50)),
            _ => Pace::Stuck,
        };
        let handler = HandlerPlan {
            kind,
            every_event: self.one_in(4),
            resync: self.one_in(4).then(|| self.seconds(1..=120)),
            is_filtered: kind == HandlerKind::Inline && self.one_in(4),
            pace,
            panics: (kind != HandlerKind::Stream && self.one_in(4)).then(|| self.random.u64(1..=6)),
            leaves_after: self.one_in(8).then(|| self.random.u64(1..=20)),
        };
        Step::Join { informer, handler }
    }
}
