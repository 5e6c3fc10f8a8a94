//! The client stack: how many connections it makes, what it sends, and what it says when there is no server.

mod asking;
mod credentials;
mod ending;
mod failures;
mod flow;
mod hostile;
mod secrets;
mod separate;
mod sharing;
mod silence;
mod small_server;
