//! The reflector: lists, streaming lists, watches, backoff, bad input, silence.

mod backoff;
mod bad_input;
mod lists;
mod silence;
mod streaming_lists;
mod watches;
