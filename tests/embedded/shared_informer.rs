//! The shared informer: when resyncs are due, and cleanup after the stop.

mod resync;
mod stop;
