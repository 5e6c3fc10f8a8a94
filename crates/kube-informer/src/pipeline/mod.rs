//! The stages between the API server and the handlers, in the order in which data flows through them.
//!
//! ```text
//! API server → wire → reflector → queue → controller → store → processor → handlers
//! ```
//!
//! No stage imports a later one, with one exception: the controller drives the store and the processor.

pub(crate) mod wire;

pub(crate) mod reflector;

pub(crate) mod queue;

pub(crate) mod controller;

pub(crate) mod store;

pub(crate) mod processor;
