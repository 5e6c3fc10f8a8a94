//! Bad and hostile input: always the right answer, never a panic, a hang, or something half written.

#[path = "../faults/wire.rs"]
#[expect(
    dead_code,
    reason = "the client of the fault tests, of which less is needed here"
)]
mod wire;

mod bodies;
mod bytes;
mod paths;
