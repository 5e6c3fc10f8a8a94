//! Servers for the mission tests.
