//! B. The shared informer: handlers and their registrations, late join, resync, states, indexes, stop order.
