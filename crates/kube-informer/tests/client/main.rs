//! The client: its connections, its requests and its errors.

mod credentials;
mod ending;
mod failures;
mod flow;
mod hostile;
mod requests;
mod secrets;
mod separate;
mod sharing;
mod silence;
mod small_server;
