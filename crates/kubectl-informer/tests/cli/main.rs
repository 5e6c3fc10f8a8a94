//! `kubectl-informer` as a person uses it: in a pipe, in a terminal, with and without a cluster, and with one that goes
//! away and comes back.

mod asking;
mod cluster;
mod completing;
mod contact;
#[cfg(feature = "demo")]
mod demo;
mod failing;
mod getting;
mod outputs;
mod program;
#[cfg(unix)]
mod terminal;
mod watching;
