//! The reflector: lists, streaming lists, watches, backoff, bad input, stalled watches.

mod backoff;
mod bad_input;
mod lists;
mod stalled_watches;
mod streaming_lists;
mod watches;
