//! Draws faults, alone and in combinations.

use std::time::Duration;

use kube_embedded::Fault;

use super::draw::Drawer;
use super::faults::Target;
use super::{FaultPlan, Step};
use crate::objects::{FEW, NAMESPACES};

impl Drawer {
    pub(super) fn fault_step(&mut self) -> Step {
        match self.random.u8(..22) {
            0..10 => Step::Fault(self.fault()),
            10..13 => Step::Heal,
            13 | 14 => Step::Cut,
            15 => Step::Compact,
            16 => Step::Down,
            17 => Step::Up,
            18 => Step::Backup,
            19 => Step::Restore,
            _ if self.is_custom => {
                if self.random.bool() {
                    Step::RemoveKind
                } else {
                    Step::ServeKind
                }
            }
            _ => Step::Cut,
        }
    }

    /// Draws steps that rarely follow each other by chance.
    pub(super) fn disaster(&mut self) -> Vec<Step> {
        let fault = |target, fault, times| Step::Fault(FaultPlan::new(target, fault, times));
        let few = Some(self.random.usize(1..=4));
        let key = self.random.usize(..FEW);
        let informer = self.random.usize(..self.informers);
        let mut steps = match self.random.u8(..11) {
            // The watch breaks, and a stale server answers the following list.
            0 => vec![
                fault(Target::Lists, Fault::StaleList(self.random.u64(1..=12)), few),
                fault(Target::Streams, Fault::NoStreamingList, None),
                fault(Target::Watches, Fault::ErrorAfterEvents(0), few),
                Step::Cut,
            ],
            // A list fails in the middle, and an object is deleted before it is repeated.
            1 => vec![
                fault(Target::Streams, Fault::NoStreamingList, None),
                fault(Target::LaterPages, Fault::unavailable(), few),
                Step::Compact,
                Step::Cut,
                Step::Pause(self.millis(1..=500)),
                Step::Delete { key },
            ],
            // All requests fail for a while.
            2 => {
                let fault_of_all = match self.random.u8(..6) {
                    0 => Fault::unavailable(),
                    1 => Fault::Drop,
                    2 => Fault::CloseAfterEvents(0),
                    3 => Fault::ExpireAfterEvents(0),
                    4 => Fault::NoAnswer,
                    _ => Fault::BrokenJson(0),
                };
                vec![fault(Target::ListsAndWatches, fault_of_all, None), Step::Cut]
            }
            // An informer starts while the server is down.
            3 => vec![Step::Down, Step::Restart { informer }],
            // The server is restored to older versions.
            4 => vec![
                Step::Backup,
                self.write(),
                self.write(),
                self.write(),
                Step::GoBack { writes: key },
            ],
            // Another object gets a version that was used before.
            5 => vec![Step::RepeatVersion { key }],
            // Lists are slow and fail near their end.
            6 => vec![
                fault(Target::Streams, Fault::NoStreamingList, None),
                fault(Target::LaterPages, Fault::Drip(20, Duration::from_secs(20)), None),
                fault(Target::LaterPages, Fault::CutAfterBytes(400), None),
                Step::Compact,
                Step::Cut,
                Step::Pause(Duration::from_mins(40)),
            ],
            // The kind is removed for a while.
            7 if self.is_custom => vec![
                Step::RemoveKind,
                Step::Pause(self.seconds(1..=120)),
                Step::ServeKind,
                // The cache may have been emptied, and was not listed again yet.
                Step::CheckConsistency { informer },
                self.write(),
            ],
            // Requests reach the wrong namespace.
            8 => {
                let namespace = NAMESPACES[self.random.usize(..NAMESPACES.len())].to_owned();
                vec![
                    fault(Target::ListsAndWatches, Fault::OtherNamespace(namespace), few),
                    Step::CheckConsistency { informer },
                    Step::Turns(20),
                    Step::Compact,
                    Step::Cut,
                ]
            }
            // An event is lost, and only a comparison can find this.
            9 if self.is_checked => vec![
                fault(Target::Watches, Fault::LoseEvent(0), few),
                Step::Cut,
                self.write(),
                self.write(),
                Step::Pause(self.seconds(1..=20)),
                Step::Settle,
            ],
            _ => vec![Step::Down, Step::Compact],
        };
        steps.extend((0..self.random.usize(..4)).map(|_| self.write()));
        steps.push(Step::Pause(self.millis(1..=60_000)));
        steps.push(if self.random.bool() { Step::Heal } else { Step::Up });
        steps
    }

    fn fault(&mut self) -> FaultPlan {
        let events = self.random.usize(..5);
        let fault = match self.random.u8(..32) {
            0 => Fault::Drop,
            1 => Fault::Delay(self.millis(1..=40_000)),
            2 => Fault::unauthorized(),
            3 => Fault::forbidden(),
            4 => Fault::not_found(),
            5 => Fault::expired(),
            6 => Fault::too_many_requests(self.random.u32(..5)),
            7 => Fault::internal_error(),
            8 => Fault::unavailable(),
            9 => Fault::TooLargeVersion,
            10 | 29 => Fault::CutAfterBytes(self.random.usize(..4_000)),
            11 => Fault::Drip(self.random.usize(50..1_000), self.millis(1..=300)),
            12 | 13 => Fault::CutAfterEvents(events),
            14 | 15 => Fault::CloseAfterEvents(events),
            16 => Fault::SilenceAfterEvents(events),
            17 => Fault::ExpireAfterEvents(events),
            18 => Fault::ErrorAfterEvents(events),
            19 => Fault::NoBookmarks,
            20 => Fault::NoStreamingList,
            21 => Fault::IgnoreStreamingList,
            22 | 23 => Fault::StaleList(self.random.u64(1..=12)),
            24 => Fault::DuplicateEvents,
            25 => match self.random.u8(..3) {
                0 => Fault::WrongKind,
                1 => Fault::NoMetadata,
                _ => Fault::UnwantedTable,
            },
            26 => Fault::BrokenJson(events),
            27 => Fault::Oversized(self.random.usize(1..=50_000)),
            28 => Fault::NoAnswer,
            _ => Fault::Compact,
        };
        let target = match self.random.u8(..10) {
            0 | 1 => Target::Lists,
            2 | 8 | 9 => Target::LaterPages,
            3 | 4 => Target::Watches,
            5 => Target::Streams,
            6 => Target::ListsAndWatches,
            // If discovery does not know the kind either, an empty cache is right.
            _ if matches!(fault, Fault::Fail { code: 404, .. }) => Target::ListsAndWatches,
            _ => Target::Everything,
        };
        FaultPlan {
            target,
            fault,
            times: (self.random.u8(..5) > 0).then(|| self.random.usize(1..=4)),
            after: if self.random.bool() {
                0
            } else {
                self.random.usize(..3)
            },
        }
    }
}
