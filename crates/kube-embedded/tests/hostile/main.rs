//! Invalid and hostile input: always the correct response, never a panic, a hang, or a partial write.

#[path = "../faults/wire.rs"]
#[expect(dead_code, reason = "only some functions of the client are used here")]
mod wire;

mod bodies;
mod bytes;
mod paths;
