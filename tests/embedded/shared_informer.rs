//! The shared informer: what is left after the stop.

mod stop;
