//! Tests of single listeners, without tasks or a clock where possible.

mod history;
mod turns;
mod waking;
