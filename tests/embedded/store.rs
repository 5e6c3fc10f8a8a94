//! The store.

mod version;
