//! The whole path, from a server's socket to a handler, on the cluster of `KUBECONFIG`.
//!
//! A subject is a separate process that reads commands from its standard input: `sync`, `reads`, `updates N`,
//! `relist`. It prints a line of JSON when a command is done and the process is idle. `cargo xtask bench`
//! sends the commands. `client_go/cluster` does the same for client-go; it also loads and updates the pods.
//!
//! The settled memory of a subject is the growth of its resident memory since before the sync. glibc keeps
//! some freed memory; the program `cluster_heap` counts the allocations.

mod arrivals;
mod command_loop;
mod process;
mod projection;
pub mod subjects;

use std::time::Duration;

use self::arrivals::Arrivals;
use self::command_loop::CommandLoop;
pub use self::subjects::SubjectOptions;
use crate::Outcome;

/// The annotation with the time of an update, in nanoseconds since 1970.
const STAMP: &str = "bench.kube-informer.dev/touched";

/// Returns the number of allocated bytes.
pub type Heap = fn() -> f64;

/// An implementation that syncs and watches all pods.
trait ClusterSubject {
    /// Fills the cache. Returns when the handler has received every object.
    async fn sync(&mut self) -> Outcome;

    /// Returns the number of cached objects.
    fn objects(&self) -> usize;

    /// Returns the number of lists.
    fn lists(&self) -> u64;

    /// Measures reads of single objects, if the subject supports it.
    fn reads(&self) -> Option<Reads> {
        None
    }
}

/// Durations of the first read of an object.
#[derive(Debug, Clone, Copy)]
struct Reads {
    /// Getting the object from the cache and reading a field.
    object: Duration,
    /// Getting the object and reading a label, if it has one.
    label: Option<Duration>,
}

/// Runs a subject until its input ends. With `heap`, the responses contain the allocated bytes.
///
/// It creates the runtime, so that the code is compiled once and not for every program.
pub fn run(options: SubjectOptions, heap: Option<Heap>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let arrivals = Arrivals::default();
    let commands = CommandLoop::new(arrivals.clone(), heap);
    runtime.block_on(subjects::run(options, arrivals, commands))
}
