//! Lists a kind, then watches it, and starts over when a watch cannot continue.
//!
//! [`machine::Machine`] makes all decisions and performs no IO: it receives an [`Input`](machine::Input) and the time,
//! and returns the next [`Action`](machine::Action). [`driver::Driver`] performs the action and feeds the result back.
//! Every behaviour of a server is therefore a test without a clock or a socket, and the same machine runs in the
//! simulator.

mod backoff;
mod delta;
pub(crate) mod driver;
mod list_buffer;
mod list_trace;
pub(crate) mod machine;
#[cfg(test)]
mod tests;

pub use self::backoff::Backoff;
pub(crate) use self::delta::{Delta, Replacement, Scope};
