//! Checks what handlers and caches observe against the informer's contract.
//!
//! The simulator, the chaos tests, the fuzz targets and the integration tests share this crate:
//!
//! - [`HandlerChecker`] checks the events of one handler (contract 3, 4, 5, 7, 8, 10 and 11);
//! - [`CacheChecker`] checks one cache (contract 1 and 2);
//! - [`ServerHistory`] contains the server's state at each version. It is optional: a test that controls
//!   every write has one, a test against a real server does not, and then fewer checks are possible;
//! - [`Findings`] collects violations, each with the number of the contract's line. Nothing panics until a test asserts.

mod cache;
mod finding;
mod handler;
mod history;
mod observe;
#[cfg(test)]
mod tests;

pub use cache::{CacheChecker, CacheContents};
pub use finding::{Finding, Findings};
pub use handler::{HandlerChecker, HandlerRules};
pub use history::{Collection, HistoryView, Position, Selects, ServerHistory, difference};
pub use observe::{CachedObject, ObjectState, ObservedEvent};
