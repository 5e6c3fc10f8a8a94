//! Integration tests of informers and of the API server, by component.
//!
//! Every test is written against [`conformance::TestServer`] and runs on the embedded server; `cargo xtask
//! test --real` runs the same tests on a real kube-apiserver with etcd. Tests that need the embedded server's
//! faults or a paused clock are in the suite `embedded`.

mod api_server;
mod client_go_limitations;
mod extensions;
mod factory;
mod queue_and_controller;
mod reflector;
mod shared_informer;
mod store;
mod workqueue;

#[path = "../common/mod.rs"]
mod common;

use common::{config_maps, factories, gate, informers, kinds, observed_informer, tap, widgets};
