//! The plan of a run. All of it is drawn from a seed before the run starts, so that a run can be repeated,
//! also without some of its steps.

mod display;
mod draw;
mod draw_faults;
mod faults;
mod handlers;
mod informers;

use std::time::Duration;

pub use faults::{FaultPlan, LastingFault};
pub use handlers::{HandlerKind, HandlerPlan, Pace};
pub use informers::{InformerPlan, ObjectFormat, Selection, TransformPlan};

/// The plan of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed from which the plan was drawn.
    pub seed: u64,
    /// Number of changes in the server's history.
    pub history: usize,
    /// Interval of the server's bookmarks.
    pub bookmarks: Duration,
    /// Whether the kind is a custom resource, whose definition can be removed.
    pub is_custom: bool,
    /// Number of objects at the beginning, in addition to those that steps write.
    pub objects: usize,
    /// Bytes of padding in every object.
    pub padding: usize,
    /// A fault that never ends.
    pub lasting: Option<LastingFault>,
    /// The informers.
    pub informers: Vec<InformerPlan>,
    /// The steps.
    pub steps: Vec<Step>,
}

impl Plan {
    /// Returns the plan without the steps in a range.
    #[must_use]
    pub fn without_steps(&self, range: std::ops::Range<usize>) -> Plan {
        let mut plan = self.clone();
        plan.steps.drain(range);
        plan
    }

    /// Returns variants of the plan, each with one simpler setting.
    #[must_use]
    pub fn simpler(&self) -> Vec<Plan> {
        let mut plans = Vec::new();
        let mut push = |change: &dyn Fn(&mut Plan)| {
            let mut plan = self.clone();
            change(&mut plan);
            if format!("{plan:?}") != format!("{self:?}") {
                plans.push(plan);
            }
        };
        push(&|plan| plan.objects = 0);
        push(&|plan| plan.objects /= 2);
        push(&|plan| plan.padding = 0);
        push(&|plan| plan.lasting = None);
        push(&|plan| plan.history = 10_000);
        for at in 0..self.informers.len() {
            push(&|plan| plan.informers[at].works = false);
            push(&|plan| plan.informers[at].has_index = false);
            push(&|plan| plan.informers[at].transform = TransformPlan::None);
            push(&|plan| plan.informers[at].prunes_data = false);
            push(&|plan| plan.informers[at].keeps_managed_fields = false);
            push(&|plan| plan.informers[at].check_every = None);
            push(&|plan| plan.informers[at].from_factory = false);
            push(&|plan| plan.informers[at].resync = Duration::ZERO);
            push(&|plan| plan.informers[at].page = 0);
            push(&|plan| plan.informers[at].selection = Selection::Everything);
            push(&|plan| plan.informers[at].format = ObjectFormat::Decoded);
        }
        plans
    }
}

/// One step of a run.
#[derive(Debug, Clone)]
pub enum Step {
    /// Creates or replaces an object.
    Write {
        /// The number of the object.
        key: usize,
        /// Whether it has the label by which some informers select.
        is_chosen: bool,
        /// Whether failing transforms fail for it.
        is_poisoned: bool,
    },
    /// Writes many objects at once.
    WriteMany {
        /// The number of the first object.
        first: usize,
        /// The number of objects.
        count: usize,
    },
    /// Deletes many objects at once.
    DeleteMany {
        /// The number of the first object.
        first: usize,
        /// The number of objects.
        count: usize,
    },
    /// Deletes an object if it exists.
    Delete {
        /// The number of the object.
        key: usize,
    },
    /// Deletes an object and creates it again at once, with another uid.
    Recreate {
        /// The number of the object.
        key: usize,
    },
    /// Raises the version, like writes to other kinds.
    Advance(u64),
    /// Lets time pass.
    Pause(Duration),
    /// Lets tasks run for this many turns without time passing.
    Turns(u32),
    /// Adds a fault.
    Fault(FaultPlan),
    /// Ends all faults except a lasting one.
    Heal,
    /// Breaks all connections.
    Cut,
    /// Compacts the history of the server.
    Compact,
    /// Takes the server down.
    Down,
    /// Brings the server back.
    Up,
    /// Makes a backup.
    Backup,
    /// Restores the backup as the documentation of etcd recommends: versions continue after the newest one.
    Restore,
    /// Restores the backup and its versions: the server goes back. Then writes some objects, and settles.
    GoBack {
        /// Number of objects that are written before informers can notice.
        writes: usize,
    },
    /// Restores a backup and writes the same object again: it has the same version as before and a different
    /// uid.
    RepeatVersion {
        /// The number of the object.
        key: usize,
    },
    /// Removes the definition of the kind.
    RemoveKind,
    /// Creates the definition of the kind again.
    ServeKind,
    /// Adds a handler to an informer.
    Join {
        /// The number of the informer.
        informer: usize,
        /// The handler.
        handler: HandlerPlan,
    },
    /// Removes a handler.
    Leave {
        /// The number of the informer.
        informer: usize,
        /// The number of the handler.
        handler: usize,
        /// Whether to wait until it has ended.
        waits: bool,
    },
    /// Stops an informer, and replaces it by a new one.
    Restart {
        /// The number of the informer.
        informer: usize,
    },
    /// Adds an index to a running informer.
    AddIndex {
        /// The number of the informer.
        informer: usize,
    },
    /// Takes a snapshot and holds it.
    HoldSnapshot {
        /// The number of the informer.
        informer: usize,
    },
    /// Drops all held snapshots of an informer.
    DropSnapshots {
        /// The number of the informer.
        informer: usize,
    },
    /// Writes an object and waits until the cache contains it.
    WaitForWrite {
        /// The number of the informer.
        informer: usize,
        /// The number of the object.
        key: usize,
        /// How long to wait.
        timeout: Duration,
    },
    /// Waits until the informer has synced.
    WaitForSync {
        /// The number of the informer.
        informer: usize,
        /// How long to wait.
        timeout: Duration,
    },
    /// Compares the cache with the server.
    CheckConsistency {
        /// The number of the informer.
        informer: usize,
    },
    /// Ends all faults except a lasting one, and requires everything to become consistent.
    Settle,
}
