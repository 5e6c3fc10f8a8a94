//! Fuzz targets: no input may cause a panic or a wrong result.
//!
//! A [`Target`] accepts any bytes and panics if something is wrong: if the code under test panics, if two
//! readers of the same bytes disagree, if a value does not survive a round trip, or if a server stops
//! serving. libFuzzer runs the targets to find bytes that reach new code (`cargo xtask fuzz`), and the tests
//! of this package replay its corpora.

mod choices;
mod informer;
mod json;
mod key;
pub mod memory;
pub mod mutate;
mod objects;
mod packed;
mod pieces;
mod protobuf;
mod selector;
mod server;

use std::cell::Cell;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::{fs, io};

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the target and of its corpus.
    pub name: &'static str,
    /// Number of mutations in a test, chosen so that all targets take about as long.
    pub mutations: usize,
    check: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target::new("protobuf_object", 3_000, protobuf::object),
    Target::new("protobuf_list", 6_000, protobuf::list),
    Target::new("protobuf_watch", 10_000, protobuf::watch),
    Target::new("json_object", 3_000, json::object),
    Target::new("json_list", 8_000, json::list),
    Target::new("json_watch", 10_000, json::watch),
    Target::new("json_skip", 5_000, json::skip),
    Target::new("selector", 5_000, selector::selector),
    Target::new("key", 10_000, key::key),
    Target::new("continue_token", 400, server::continue_token),
    Target::new("request", 150, server::request),
    Target::new("patch", 150, server::patch),
    Target::new("informer", 100, informer::informer),
];

thread_local! {
    /// Number of panics on this thread, including those that a task or a handler caught.
    static PANICS: Cell<usize> = const { Cell::new(0) };
}

impl Target {
    const fn new(name: &'static str, mutations: usize, check: fn(&[u8])) -> Target {
        Target {
            name,
            mutations,
            check,
        }
    }

    /// Returns the target with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Target> {
        TARGETS.iter().find(|target| target.name == name).copied()
    }

    /// Runs the target.
    ///
    /// # Panics
    /// If the code under test is wrong.
    pub fn run(&self, data: &[u8]) {
        count_panics();
        let before = PANICS.get();
        (self.check)(data);
        assert_eq!(PANICS.get(), before, "a panic was caught and not reported");
    }

    /// Returns the folder of the named inputs, one file each.
    #[must_use]
    pub fn corpus(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(self.name)
    }

    /// Returns the file of the unnamed inputs.
    fn packed(&self) -> PathBuf {
        self.corpus().with_extension("packed")
    }

    /// Returns the corpus: the unnamed inputs in the order of the file, then the named ones sorted by name.
    pub fn inputs(&self) -> io::Result<Vec<(String, Vec<u8>)>> {
        let packed = packed::read(&self.packed())?;
        let mut inputs: Vec<_> = (1..)
            .zip(packed)
            .map(|(number, input)| (format!("packed-{number:03}"), input))
            .collect();
        let mut named = Vec::new();
        for entry in fs::read_dir(self.corpus())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            named.push((name, fs::read(entry.path())?));
        }
        named.sort();
        inputs.append(&mut named);
        Ok(inputs)
    }

    /// Adds unnamed inputs to the corpus.
    pub fn add(&self, mut inputs: Vec<Vec<u8>>) -> io::Result<()> {
        inputs.append(&mut packed::read(&self.packed())?);
        packed::write(&self.packed(), inputs)
    }
}

fn count_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            PANICS.set(PANICS.get() + 1);
            before(info);
        }));
    });
}
