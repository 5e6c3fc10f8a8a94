//! The informer, from the list and watch to the handlers.

pub mod pods;
pub mod scenario;
pub mod subjects;
