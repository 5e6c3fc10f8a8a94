//! The factory: options, one informer per kind, start, shutdown and waiting for sync.

mod connections;
mod discovery;
mod lifecycle;
mod namespaces;
mod object_types;
mod options;
mod permissions;
mod requests;
mod resync;
mod sharing;
mod sync;
mod unserved_kinds;

use std::time::Duration;

use crate::factories::{factory, started, stopped};

/// Long enough for a local server to respond, and short enough for tests that expect a timeout.
const SHORTLY: Duration = Duration::from_secs(2);
