//! Lists a kind, then watches it, and relists when a watch cannot continue.
//!
//! [`machine::Machine`] makes all decisions without IO: it receives an [`Input`](machine::Input) and the
//! time, and returns the next [`Action`](machine::Action). [`driver::Driver`] performs the action and returns
//! the result. So every server behaviour can be tested without a clock or a socket, and the simulator runs
//! the same machine.

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
