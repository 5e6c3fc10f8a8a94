//! The reflector: list, streaming list, watch, backoff, bad input from the server, stalled watches.

mod backoff;
mod bad_input;
mod lists;
mod stalled_watches;
mod streaming_lists;
mod watches;
