//! Faults and outages, observed by a client.

mod lifecycle;
mod outages;
mod responses;
mod rules;
mod watches;
mod wire;
