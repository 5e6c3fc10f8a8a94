//! Every fault and every switch of the server, seen from the wire.

mod answers;
mod life;
mod rules;
mod switches;
mod watches;
mod wire;
