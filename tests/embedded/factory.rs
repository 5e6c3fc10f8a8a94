//! The factory: connections, and kinds that are not served.

mod connections;
mod unserved_kinds;

use crate::factories::stopped;
