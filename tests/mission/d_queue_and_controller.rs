//! D. Queue and controller: deltas, their order, and the way from a delta to the store and the handlers.
