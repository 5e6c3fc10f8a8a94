//! Tests that need the embedded server: faults on demand, or a paused clock on which hours pass at once.
//!
//! `cargo xtask test --real` does not run this suite. Tests that can run on both servers belong in the suite `conformance`,
//! which has no access to [`paused`].

mod client_go_limitations;
mod extensions;
mod factory;
mod paused;
mod reflector;
mod shared_informer;
mod store;

#[path = "../common/mod.rs"]
mod common;

use common::{config_maps, factories, gate, informers, kinds, observed_informer, tap, widgets};
