//! kube's client and runtime on the embedded server, with and without sockets, with faults and over hours.

mod clients;
mod definitions;
mod owners;
mod paused_time;
mod reflectors;
