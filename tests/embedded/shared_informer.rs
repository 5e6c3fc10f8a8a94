//! The shared informer: when resyncs are due, and what is left after the stop.

mod resync;
mod stop;
