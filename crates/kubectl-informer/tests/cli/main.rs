//! End-to-end tests of `kubectl-informer`: in a pipe, in a terminal, without a cluster, and with a server
//! that restarts.

mod cluster;
mod completions;
#[cfg(feature = "demo")]
mod demo;
mod failures;
mod get;
mod outputs;
mod program;
mod prompt;
mod reconnecting;
#[cfg(unix)]
mod terminal;
mod watch;
