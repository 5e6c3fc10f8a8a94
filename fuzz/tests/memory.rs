//! Bounds of allocations for an input. The allocator counts for the whole process, so this program has one
//! test.

use fastrand::Rng;
use fuzz::mutate::mutated;
use fuzz::{Target, memory};

/// Targets with bounds. Servers and informers allocate too much for one.
const BOUNDED: [&str; 6] = [
    "protobuf_object",
    "protobuf_list",
    "protobuf_watch",
    "json_object",
    "json_list",
    "json_watch",
];

#[test]
fn allocations_are_bounded_by_the_length_of_the_input() {
    for target in BOUNDED.map(|name| Target::named(name).expect("a target")) {
        let inputs = target.inputs().expect("a corpus");
        // Build tables before counting.
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
            // Repeated inputs. If a short input had a large result, this would exceed the bound.
            let at = random.usize(..=input.len());
            let end = (at + 1 + random.usize(..4)).min(input.len());
            let (head, tail) = input.split_at(at);
            run(target, &[head, &input[at..end].repeat(2_000), tail].concat());
            run(target, &mutated(random, input, &[]));
        }
    }
}

/// Prints the input if it fails.
fn run(target: Target, input: &[u8]) {
    let outcome = std::panic::catch_unwind(|| target.run(input));
    assert!(outcome.is_ok(), "{}: {}", target.name, input.escape_ascii());
}
