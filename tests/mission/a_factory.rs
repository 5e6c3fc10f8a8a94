//! A. The factory, the entry point: options, one informer per kind, start, shutdown and the wait for sync.

mod connections;
mod discovery;
mod forms;
mod late_kinds;
mod lifecycle;
mod namespaces;
mod options;
mod resync;
mod rights;
mod sharing;
mod sync;

use std::time::Duration;

use crate::factories::{factory, started, stopped};

/// Long enough for a local server to answer, and no longer than a test may take that waits in vain.
const SHORTLY: Duration = Duration::from_secs(2);
