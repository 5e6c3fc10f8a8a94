//! C. The reflector: list, streaming list, watch, backoff, bad input from the server, stalled watches.
