//! Fixtures of the suites `conformance` and `embedded`.

#![allow(dead_code, reason = "each suite uses a part")]

pub(crate) mod config_maps;
pub(crate) mod factories;
pub(crate) mod gate;
pub(crate) mod informers;
pub(crate) mod kinds;
pub(crate) mod observed_informer;
pub(crate) mod tap;
pub(crate) mod widgets;
