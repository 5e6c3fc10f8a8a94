//! What the suites `conformance` and `embedded` have in common.

#![allow(dead_code, reason = "each suite uses a part")]

pub(crate) mod factories;
pub(crate) mod informers;
pub(crate) mod kinds;
pub(crate) mod scene;
pub(crate) mod tap;
pub(crate) mod widgets;
