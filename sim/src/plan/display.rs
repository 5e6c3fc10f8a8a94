//! Plans as text.

use std::fmt::{self, Write};

use super::{FaultPlan, HandlerPlan, InformerPlan, Plan, Selection, Step, TransformPlan};
use crate::objects::key_of;

impl Plan {
    /// The settings in one line.
    #[must_use]
    pub fn settings(&self) -> String {
        let mut text = format!(
            "seed {}, {}, {} objects with {} bytes of padding, history of {}, bookmarks every {:?}",
            self.seed,
            if self.is_custom {
                "custom resource"
            } else {
                "config maps"
            },
            self.objects,
            self.padding,
            self.history,
            self.bookmarks,
        );
        if let Some(lasting) = self.lasting {
            let _written = write!(text, ", lasting fault {lasting:?}");
        }
        text
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Write { key, is_poisoned, .. } => {
                let poisoned = if *is_poisoned { " (poisoned)" } else { "" };
                write!(f, "write {}{poisoned}", key_of(*key))
            }
            Step::WriteMany { first, count } => write!(f, "write {count} objects from {}", key_of(*first)),
            Step::DeleteMany { first, count } => write!(f, "delete {count} objects from {}", key_of(*first)),
            Step::Delete { key } => write!(f, "delete {}", key_of(*key)),
            Step::Recreate { key } => write!(f, "delete and create {}", key_of(*key)),
            Step::Advance(by) => write!(f, "advance the version by {by}"),
            Step::Pause(time) => write!(f, "pause for {time:?}"),
            Step::Turns(turns) => write!(f, "run tasks for {turns} turns"),
            Step::Fault(plan) => write!(f, "add fault {plan}"),
            Step::Heal => f.write_str("end faults"),
            Step::Cut => f.write_str("cut connections"),
            Step::Compact => f.write_str("compact history"),
            Step::Down => f.write_str("server down"),
            Step::Up => f.write_str("server up"),
            Step::Backup => f.write_str("make a backup"),
            Step::Restore => f.write_str("restore the backup with newer versions"),
            Step::GoBack { writes } => write!(f, "restore the backup and its versions, then write {writes}"),
            Step::RepeatVersion { key } => {
                write!(f, "go back and create {} at the same version again", key_of(*key))
            }
            Step::RemoveKind => f.write_str("remove the kind"),
            Step::ServeKind => f.write_str("serve the kind"),
            Step::Join { informer, handler } => write!(f, "informer {informer}: add handler: {handler}"),
            Step::Leave {
                informer,
                handler,
                waits,
            } => {
                let waits = if *waits { " and wait for its end" } else { "" };
                write!(f, "informer {informer}: remove handler {handler}{waits}")
            }
            Step::Restart { informer } => write!(f, "informer {informer}: stop and replace"),
            Step::AddIndex { informer } => write!(f, "informer {informer}: add index"),
            Step::HoldSnapshot { informer } => write!(f, "informer {informer}: hold snapshot"),
            Step::DropSnapshots { informer } => write!(f, "informer {informer}: drop snapshots"),
            Step::WaitForWrite {
                informer,
                key,
                timeout,
            } => {
                let key = key_of(*key);
                write!(
                    f,
                    "informer {informer}: write {key} and wait for it up to {timeout:?}"
                )
            }
            Step::WaitForSync { informer, timeout } => {
                write!(f, "informer {informer}: wait for sync up to {timeout:?}")
            }
            Step::CheckConsistency { informer } => write!(f, "informer {informer}: check consistency"),
            Step::Settle => f.write_str("settle"),
        }
    }
}

impl fmt::Display for FaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} on {:?}", self.fault, self.target)?;
        if self.after > 0 {
            write!(f, " after {}", self.after)?;
        }
        match self.times {
            Some(times) => write!(f, ", {times} times"),
            None => f.write_str(", from now on"),
        }
    }
}

impl fmt::Display for HandlerPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {:?}", self.kind, self.pace)?;
        if self.every_event {
            f.write_str(", every event")?;
        }
        if self.is_filtered {
            f.write_str(", filtered")?;
        }
        if let Some(resync) = self.resync {
            write!(f, ", resync every {resync:?}")?;
        }
        if let Some(panics) = self.panics {
            write!(f, ", panics at every {panics}th event")?;
        }
        if let Some(leaves) = self.leaves_after {
            write!(f, ", leaves after {leaves}")?;
        }
        Ok(())
    }
}

impl fmt::Display for InformerPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.format)?;
        match &self.selection {
            Selection::Everything => {}
            Selection::Namespaces(namespaces) => write!(f, " in {}", namespaces.join(" and "))?,
            Selection::Chosen => f.write_str(" with the label")?,
        }
        write!(
            f,
            ", {}, {}, pages of {}",
            if self.json { "JSON" } else { "protobuf" },
            if self.streams { "streaming lists" } else { "lists" },
            if self.page == 0 { 500 } else { self.page },
        )?;
        if !self.resync.is_zero() {
            write!(f, ", resync every {:?}", self.resync)?;
        }
        if self.transform != TransformPlan::None {
            write!(f, ", transform {:?}", self.transform)?;
        }
        if let Some(every) = self.check_every {
            write!(f, ", consistency check every {every:?}")?;
        }
        for (is_set, name) in [
            (self.works, "workers"),
            (self.has_index, "index"),
            (self.prunes_data, "pruned data"),
            (self.keeps_managed_fields, "managed fields"),
            (self.from_factory, "from a factory"),
        ] {
            if is_set {
                write!(f, ", {name}")?;
            }
        }
        Ok(())
    }
}
