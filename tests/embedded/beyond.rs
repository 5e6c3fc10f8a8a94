//! Consistency checks, and servers that go back in time.

mod consistency;
mod going_back;
