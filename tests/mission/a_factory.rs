//! A. The factory, the entry point: options, one informer per kind, start, shutdown and the wait for sync.

mod connections;
