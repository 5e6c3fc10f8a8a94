//! B. The shared informer: handlers and their registrations, late join, resync, states, indexes, stop order.

mod contract;
mod handlers;
mod hooks;
mod indexes;
mod isolation;
mod kinds;
mod registrations;
mod resync;
mod states;
mod stop;
