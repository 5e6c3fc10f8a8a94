//! Finds the specs that pass on a real server without nodes.

use std::fs;
use std::path::Path;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::Folder;
use super::lists::Lists;
use super::program::E2eTest;
use super::server::Server;
use crate::Outcome;

/// The specs of API machinery.
const FOCUS: &str = r"\[sig-api-machinery\]";

/// Specs that stop nodes or API servers, and those that Kubernetes itself considers unreliable.
const SKIP: &str = r"\[Disruptive\]|\[Flaky\]";

/// Time limit of a spec. A spec that waits for pods does not pass, and would wait for minutes.
const LIMIT: Duration = Duration::from_secs(150);

/// Specs that run at the same time. Most wait.
const PARALLEL: usize = 6;

pub(super) fn run(root: &Path, mut lists: Lists, focused: &dyn Fn(&str) -> bool) -> Outcome {
    let folder = Folder::create()?;
    let server = Server::start(root, &folder.0, true)?;
    let program = E2eTest::prepare(server.kubeconfig())?;
    let mut candidates = program.list(FOCUS, SKIP, &folder.0.join("list"))?;
    candidates.retain(|name| focused(name));
    // What is marked as serial depends on everything else that happens on the server.
    let (serial, parallel): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|name| name.contains("[Serial]"));
    let mut results = run_each(&program, &parallel, PARALLEL, &folder.0.join("parallel"))?;
    results.extend(run_each(&program, &serial, 1, &folder.0.join("serial"))?);
    drop(server);
    // Specs that no longer exist are removed, too.
    lists.passing.retain(|name| !focused(name));
    let passed = results.into_iter().filter(|(_, passed)| *passed);
    lists.passing.extend(passed.map(|(name, _)| name));
    lists.write_passing(root)?;
    let logs = folder.keep();
    println!("{} specs pass; logs: {}", lists.passing.len(), logs.display());
    Ok(())
}

/// Runs each spec in a process of its own, and returns whether it passed.
fn run_each(
    program: &E2eTest,
    specs: &[String],
    threads: usize,
    folder: &Path,
) -> Result<Vec<(String, bool)>, String> {
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(String, bool)>, String> {
        let mut results = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(name) = specs.get(at) else {
                return Ok(results);
            };
            let path = folder.join(at.to_string());
            let result = program.run(slice::from_ref(name), LIMIT, &path);
            let passed = !result
                .map_err(|error| error.to_string())?
                .into_passed()
                .is_empty();
            println!("{}  {name}", if passed { "passed" } else { "failed" });
            results.push((name.clone(), passed));
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut results = Vec::new();
        for worker in workers {
            results.extend(worker.join().map_err(|_| "a worker panicked")??);
        }
        Ok(results)
    })
}
