//! Consistency checks, and servers that are restored to an older version.

mod consistency;
mod restored_server;
