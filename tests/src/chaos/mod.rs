//! What stands between a client and its server, and what goes wrong there.

mod proxy;

pub use proxy::{Proxy, Weather};
