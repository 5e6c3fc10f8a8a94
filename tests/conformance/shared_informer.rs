//! The shared informer: handlers and registrations, late handlers, resync, lifecycle, indexes, stop order.

mod contract;
mod handlers;
mod hooks;
mod indexes;
mod isolation;
mod kinds;
mod lifecycle;
mod registrations;
mod resync;
mod stop;
