//! libFuzzer for one target, whose name is in the environment. `cargo xtask fuzz` builds and runs this.
#![no_main]

use std::sync::OnceLock;

use fuzz::{Target, memory};
use libfuzzer_sys::fuzz_target;

/// Selected once, before the first input.
static TARGET: OnceLock<Target> = OnceLock::new();

fn choose() {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    let target = Target::named(&name).unwrap_or_else(|| panic!("unknown target {name:?}"));
    // Tables that are built once do not count for the first input.
    if let Ok(inputs) = target.inputs() {
        inputs.iter().for_each(|(_, input)| target.run(input));
    }
    memory::watch();
    let _ = TARGET.set(target);
}

fuzz_target!(init: choose(), |data: &[u8]| {
    if let Some(target) = TARGET.get() {
        target.run(data);
    }
});
