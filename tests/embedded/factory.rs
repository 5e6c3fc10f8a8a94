//! The factory: waits and connections.

mod connections;
mod late_kinds;

use crate::factories::stopped;
