//! List, then watch, for ever, politely.
//!
//! [`machine::Machine`] decides and never does: it is told what came from the server and what time it is, and says which
//! request to make next, what to do with an event, and how long to wait. [`driver`] does and never decides: it sends the
//! requests, keeps the time, and hands what came to the delta queue. So every behaviour of a server is a test without a
//! clock or a socket, and the same machine runs in the simulator.

mod backoff;
mod cause;
pub(crate) mod driver;
pub(crate) mod machine;
#[cfg(test)]
mod tests;

pub use self::backoff::Backoff;
pub(crate) use self::cause::Cause;
