//! The whole library, handlers and work queue included, against the embedded server in one thread on paused time.
//!
//! A *plan* is drawn from a seed: informers, and steps of writes and faults, of handlers and informers that come and go.
//! The *world* plays it. *Witnesses* stand beside every handler, and the *truth* knows what really happened on the server;
//! after each step, and inside of every handler, they compare: the contract (1–12) has to hold at any time. What fails is
//! made as short as it can be and told as a *story*, and the same seed always plays the same.
//!
//! A test plants bugs in the library and sees that each is found.

mod labour;
mod plan;
mod shrink;
mod story;
mod subject;
mod truth;
mod witness;
mod world;

pub use plan::{FaultPlan, HandlerPlan, InformerPlan, Kind, Manner, Pace, Plan, Step};
pub use shrink::shrink;
pub use story::{Counts, Violation};
pub use truth::Selection;
pub use world::{Ended, play};
