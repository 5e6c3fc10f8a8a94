//! What happens in a run. Everything is drawn from a seed before the run begins, so that a run can be repeated, and repeated
//! without some of its steps.

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

/// A run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed that the plan was drawn from.
    pub seed: u64,
    /// How many changes the server remembers.
    pub history: usize,
    /// How often the server sends bookmarks.
    pub bookmarks: Duration,
    /// Whether the kind is a custom resource, whose definition can be removed.
    pub is_custom: bool,
    /// How many objects exist at the start, beside those that steps write.
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
    /// The same plan without the steps in a range.
    #[must_use]
    pub fn without_steps(&self, range: std::ops::Range<usize>) -> Plan {
        let mut plan = self.clone();
        plan.steps.drain(range);
        plan
    }

    /// The same plan, each with one setting replaced by a simpler one.
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
        /// Whether it has the label that some informers select by.
        is_chosen: bool,
        /// Whether failing transforms fail for it.
        is_poisoned: bool,
    },
    /// Writes many objects in one go.
    WriteMany {
        /// The number of the first object.
        first: usize,
        /// How many.
        count: usize,
    },
    /// Deletes many objects in one go.
    DeleteMany {
        /// The number of the first object.
        first: usize,
        /// How many.
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
    /// Raises the version as writes to other kinds do.
    Advance(u64),
    /// Lets time pass.
    Pause(Duration),
    /// Lets tasks run for so many turns without time passing.
    Turns(u32),
    /// Adds a fault.
    Fault(FaultPlan),
    /// Ends all faults but a lasting one.
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
    /// Restores the backup as the documentation of etcd recommends: versions go on after the newest one.
    Restore,
    /// Restores the backup and its versions: the server goes back. Then writes some objects, and settles.
    GoBack {
        /// How many objects are written before informers can notice.
        writes: usize,
    },
    /// Restores a backup and writes the same object again: it has the same version as before and another uid.
    RepeatVersion {
        /// The number of the object.
        key: usize,
    },
    /// Removes the definition of the kind.
    RemoveKind,
    /// Creates the definition of the kind again.
    ServeKind,
    /// A handler joins an informer.
    Join {
        /// The number of the informer.
        informer: usize,
        /// The handler.
        handler: HandlerPlan,
    },
    /// A handler is removed.
    Leave {
        /// The number of the informer.
        informer: usize,
        /// The number of the handler.
        handler: usize,
        /// Whether its end is awaited.
        waits: bool,
    },
    /// An informer is stopped, and another takes its place.
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
    /// Writes an object and waits until the cache has it.
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
    /// Ends all faults but a lasting one; everything has to become consistent.
    Settle,
}
