//! Plans in words.

use std::fmt;

use super::{HandlerPlan, InformerPlan, Step, key_of};
use crate::truth::Selection;

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Write { key, .. } => write!(f, "write {}", key_of(*key)),
            Step::Delete { key } => write!(f, "delete {}", key_of(*key)),
            Step::Recreate { key } => write!(f, "delete and create {}", key_of(*key)),
            Step::Advance(by) => write!(f, "other kinds change: {by} versions"),
            Step::Pause(time) => write!(f, "{time:?} pass"),
            Step::Turns(turns) => write!(f, "tasks get {turns} turns"),
            Step::Fault(plan) => write!(
                f,
                "fault on {:?}{}: {:?}, {}",
                plan.target,
                if plan.after > 0 {
                    format!(" after {}", plan.after)
                } else {
                    String::new()
                },
                plan.fault,
                plan.times
                    .map_or("from now on".to_owned(), |times| format!("{times} times")),
            ),
            Step::Heal => f.write_str("faults end"),
            Step::Cut => f.write_str("connections break"),
            Step::Compact => f.write_str("history is forgotten"),
            Step::Down => f.write_str("the server goes away"),
            Step::Up => f.write_str("the server comes back"),
            Step::Backup => f.write_str("a backup is made"),
            Step::Restore => f.write_str("the backup is restored"),
            Step::Join { informer, handler } => write!(f, "informer {informer}: a handler joins: {handler}"),
            Step::Leave {
                informer,
                handler,
                waits,
            } => write!(
                f,
                "informer {informer}: handler {handler} is removed{}",
                if *waits { ", and its end waited for" } else { "" }
            ),
            Step::Restart { informer } => write!(f, "informer {informer} is stopped and made anew"),
            Step::Settle => f.write_str("everything comes to rest"),
        }
    }
}

impl fmt::Display for HandlerPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {:?}", self.manner, self.pace)?;
        if self.every {
            f.write_str(", every event")?;
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
        write!(f, "{:?}", self.kind)?;
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
        if self.works {
            f.write_str(", with workers")?;
        }
        Ok(())
    }
}
