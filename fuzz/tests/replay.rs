//! Replays every input of the corpora, and mutations of them.

use fastrand::Rng;
use fuzz::Target;
use fuzz::mutate::mutated;

/// Replays a target's corpus, then mutations of it, which are the same in every run.
fn replay(name: &str) {
    let target = Target::named(name).expect("a target");
    let inputs = target.inputs().expect("a corpus");
    assert!(!inputs.is_empty(), "{name} has no corpus");
    for (input_name, input) in &inputs {
        run(target, input, input_name);
    }
    println!(
        "{name}: replayed {} inputs and {} mutations",
        inputs.len(),
        target.mutations
    );
    let inputs: Vec<&[u8]> = inputs.iter().map(|(_, input)| &input[..]).collect();
    for seed in 0..target.mutations {
        let random = &mut Rng::with_seed(seed as u64);
        let input = random.choice(&inputs).expect("there are inputs");
        let input = mutated(random, input, &inputs);
        run(target, &input, &format!("mutation {seed}"));
    }
}

/// Prints the name of the input if it fails, so that it can be kept.
fn run(target: Target, input: &[u8], name: &str) {
    let outcome = std::panic::catch_unwind(|| target.run(input));
    assert!(
        outcome.is_ok(),
        "{}, {name}: {:?}",
        target.name,
        input.escape_ascii().to_string()
    );
}

macro_rules! replays {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name));
        })*

        #[test]
        fn every_target_is_replayed() {
            let replayed = [$(stringify!($name)),*];
            let names: Vec<&str> = fuzz::TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, replayed);
        }
    };
}

replays! {
    protobuf_object protobuf_list protobuf_watch json_object json_list json_watch json_skip selector key continue_token
    request patch informer
}
