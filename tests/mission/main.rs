//! The mission, row by row: each section is a module, and a row's tests are the functions that begin with its number, so
//! that `cargo test --test mission b6_` proves row B6.
//!
//! Every test is written against [`mission::TestServer`] and runs on the embedded server; `cargo xtask test --real` runs the
//! same tests on a real kube-apiserver with etcd. Tests that need the embedded server's faults or a paused clock are in the
//! suite `embedded`.

mod a_factory;
mod b_shared_informer;
mod c_reflector;
mod d_queue_and_controller;
mod e_store;
mod f_workqueue;
mod faults_of_others;
mod g_beyond;

#[path = "../common/mod.rs"]
mod common;

use common::{factories, informers, kinds, scene, tap, widgets};
