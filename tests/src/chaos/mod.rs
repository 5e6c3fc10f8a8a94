//! A proxy between a client and its server that injects faults.

mod proxy;

pub use proxy::{NetworkCondition, Proxy};
