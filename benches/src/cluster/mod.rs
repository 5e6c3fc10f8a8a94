//! The whole way, from a server's socket to a handler, on the cluster that `KUBECONFIG` names.
//!
//! A subject runs in a process of its own and does what it is told on its standard input, a word at a time: `sync`,
//! `reads`, `updates N`, `relist`. It answers with a line of JSON when that is done and the process has come to rest.
//! `cargo xtask bench` is the one who tells, and `client-go/cluster` does the same with client-go, loads the pods, and
//! touches them.
//!
//! The memory that a subject takes when settled is what its resident memory has grown by since before the sync. glibc keeps
//! some freed memory for later, as it does for users; the program `cluster_heap` counts what is really allocated.

mod arrivals;
mod conversation;
mod process;
mod projection;
pub mod subjects;

use std::time::Duration;

use self::arrivals::Arrivals;
use self::conversation::Conversation;
pub use self::subjects::Choice;
use crate::Outcome;

/// The annotation that says when a pod was touched, in nanoseconds since 1970.
const STAMP: &str = "bench.kube-informer.dev/touched";

/// Gives the bytes that are allocated.
pub type Heap = fn() -> f64;

/// Something that syncs and watches all pods.
trait Subject {
    /// Fills its cache, and returns when the handler has been told of every object.
    async fn sync(&mut self) -> Outcome;

    /// How many objects are in its cache.
    fn objects(&self) -> usize;

    /// How often it has asked for all objects.
    fn lists(&self) -> u64;

    /// How long it takes to read single objects; none if it is not asked for that.
    fn reads(&self) -> Option<Reads> {
        None
    }
}

/// How long it takes to read an object that nobody has looked at yet.
#[derive(Debug, Clone, Copy)]
struct Reads {
    /// To get it from the cache and look into it.
    object: Duration,
    /// To get it and look at one of its labels; none if it has none.
    label: Option<Duration>,
}

/// Runs a subject until it is told nothing more. With a heap, it says what is allocated, too.
///
/// It has its own runtime, so that all of it is compiled once and not again with every program.
pub fn run(choice: Choice, heap: Option<Heap>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let arrivals = Arrivals::default();
    let conversation = Conversation::new(arrivals.clone(), heap);
    runtime.block_on(subjects::run(choice, arrivals, conversation))
}
