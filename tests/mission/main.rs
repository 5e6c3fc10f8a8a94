//! Mission tests.
