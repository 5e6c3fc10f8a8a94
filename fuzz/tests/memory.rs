//! What is allocated for an input. The allocator counts for the whole program, so there is one test in it.

use fastrand::Rng;
use fuzz::mutate::mutated;
use fuzz::{Target, memory};

/// Targets that keep bounds. Servers and informers have much to allocate besides.
const BOUNDED: [&str; 6] = [
    "protobuf_object",
    "protobuf_list",
    "protobuf_watch",
    "json_object",
    "json_list",
    "json_watch",
];

#[test]
fn no_input_makes_readers_allocate_more_than_so_many_times_its_length() {
    for target in BOUNDED.map(|name| Target::named(name).expect("a target")) {
        let inputs = target.inputs().expect("a corpus");
        // What is made once, as tables are, is made before anybody counts.
        for is_watched in [false, true] {
            if is_watched {
                memory::watch();
            }
            for (_, input) in &inputs {
                run(target, input);
            }
        }
        let random = &mut Rng::with_seed(1);
        for (_, input) in &inputs {
            // Many times the same: where little stands for much, this is much more.
            let at = random.usize(..=input.len());
            let end = (at + 1 + random.usize(..4)).min(input.len());
            let (head, tail) = input.split_at(at);
            run(target, &[head, &input[at..end].repeat(2_000), tail].concat());
            run(target, &mutated(random, input, &[]));
        }
    }
}

/// Shows the input if it fails.
fn run(target: Target, input: &[u8]) {
    let outcome = std::panic::catch_unwind(|| target.run(input));
    assert!(outcome.is_ok(), "{}: {}", target.name, input.escape_ascii());
}
