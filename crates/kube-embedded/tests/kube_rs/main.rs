//! kube's client and runtime on the embedded server, with and without sockets, through faults and through hours.

mod definitions;
mod hours;
mod owners;
mod reflectors;
mod ways;
