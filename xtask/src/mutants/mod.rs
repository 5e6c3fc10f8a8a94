//! `cargo xtask mutants`: plants bugs in a copy of the tree and checks that tests find them.
//!
//! `sim/mutants` contains bugs written by hand; each requires an incremental build. cargo-mutants generates
//! the others. They are built together, each behind a switch, and a mutant is tested only with the tests that
//! reach its switch: a run takes minutes instead of hours.

#![expect(
    clippy::disallowed_types,
    reason = "processes run in real time, without tokio"
)]

mod changed;
mod combined;
mod detector;
mod document;
mod generated;
mod parallel;
mod patches;
mod program;
mod results;
mod stages;
mod suite;
mod switch;
mod tree;
mod viability;

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use clap::Args;

use self::combined::CombinedBuild;
use self::document::ModuleCounts;
use self::generated::Mutant;
use self::results::{Results, Status};
use self::switch::Id;
use self::tree::Tree;
use crate::ci::StepResult;
use crate::{Outcome, cache};

/// Minimum number of caught mutants, of 1,000 viable ones.
const LEAST_CAUGHT: usize = 920;
/// Maximum number of mutants and patches that `--changed` tests.
const MOST_CHANGED: usize = 60;
const PATCHES: usize = 3;
/// Number of seeds in which the simulator must find a planted bug.
const SEEDS: u64 = 200;

#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate option")]
pub(crate) struct MutantsOptions {
    /// Only plant the bugs of sim/mutants
    #[arg(long)]
    patches: bool,
    /// Only plant this bug of sim/mutants; may be repeated
    #[arg(long, value_name = "NAME")]
    patch: Vec<String>,
    /// Only test generated mutants of files whose path contains this; may be repeated
    #[arg(long, value_name = "FILE")]
    only: Vec<String>,
    /// Keep results of earlier runs for functions that did not change
    #[arg(long)]
    resume: bool,
    /// Keep results of earlier runs, but test survivors again
    #[arg(long, conflicts_with = "resume")]
    missed: bool,
    /// Number of stages to run for each mutant
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=3), value_name = "N")]
    stages: u8,
    /// List the number of mutants and their known results
    #[arg(long)]
    list: bool,
    /// Write figures and survivors to docs/conformance/mutants.md
    #[arg(long)]
    write: bool,
    /// Only test a few mutants in functions that changed since a commit, and a few patches
    #[arg(long, value_name = "BASE", num_args = 0..=1, default_missing_value = "")]
    changed: Option<String>,
    /// Number of seeds in which the simulator must find a planted bug
    #[arg(long, default_value_t = SEEDS, value_name = "N")]
    seeds: u64,
}

pub(crate) fn run(root: &Path, options: &MutantsOptions) -> Outcome {
    let folder = cache::folder()?.join("mutants");
    let _lock = cache::take(&folder)?;
    if let Some(base) = &options.changed {
        return run_changed(root, &folder, base);
    }
    let tree = Tree::update(root, &folder, "tree")?;
    if options.patches || !options.patch.is_empty() {
        let mut chosen = patches::all(root)?;
        if !options.patch.is_empty() {
            chosen.retain(|patch| options.patch.contains(&patch.name));
            if chosen.len() < options.patch.len() {
                return Err(format!(
                    "unknown patch in --patch: expected names of files in {}",
                    patches::FOLDER
                )
                .into());
            }
        }
        return patches::run(&tree, &chosen, options.seeds);
    }
    let all = generated::list(root, &tree)?;
    let mut results = Results::read(&folder.join("results"))?;
    results.retain(&all);
    let is_chosen = |mutant: &&Mutant| {
        options.only.is_empty() || options.only.iter().any(|only| mutant.file.contains(only))
    };
    let chosen: Vec<Mutant> = all.iter().filter(is_chosen).cloned().collect();
    if chosen.is_empty() {
        return Err("no mutants in the files that --only names".into());
    }
    if !options.list && !options.write {
        if options.only.is_empty() && !options.resume && !options.missed {
            patches::run(&tree, &patches::all(root)?, options.seeds)?;
        }
        for mutant in &chosen {
            let is_kept = match results.get(mutant) {
                Some(Status::Missed { .. }) => options.resume,
                _ => options.resume || options.missed,
            };
            if !is_kept {
                results.remove(mutant);
            }
        }
        let until = usize::from(options.stages);
        let left: Vec<&Mutant> = chosen
            .iter()
            .filter(|mutant| results.stages_of(mutant) < until)
            .collect();
        test_all(root, &folder, &left, &mut results, until)?;
    }
    print!("{}", document::figures(&chosen, &results));
    if options.write {
        document::write(root, &all, &results)?;
    }
    if options.list {
        return Ok(());
    }
    check(root, &chosen, &results)
}

/// Runs this as a step of CI.
pub(crate) fn step(root: &Path) -> Outcome<StepResult> {
    let folder = cache::folder()?.join("mutants");
    let _lock = cache::take(&folder)?;
    run_changed(root, &folder, "")?;
    Ok(StepResult::Passed)
}

/// Tests mutants: most of them together in one build, the others separately.
fn test_all(root: &Path, folder: &Path, mutants: &[&Mutant], results: &mut Results, until: usize) -> Outcome {
    let left_out = together(root, folder, mutants, results, until)?;
    let tree = Tree::update(root, folder, "tree")?;
    for at in viability::unviable(&tree, &left_out)? {
        results.set(left_out[at], Status::Unviable)?;
    }
    let alone: Vec<&Mutant> = left_out
        .into_iter()
        .filter(|mutant| results.get(mutant) != Some(&Status::Unviable))
        .collect();
    for (at, mutant) in alone.iter().enumerate() {
        let began = Instant::now();
        let status = stages::test_alone(&tree, mutant, until)?;
        report(&format!("{}/{}", at + 1, alone.len()), mutant, &status, began);
        results.set(mutant, status)?;
    }
    Ok(())
}

/// Tests mutants in one build. Returns those that it cannot contain.
fn together<'m>(
    root: &Path,
    folder: &Path,
    mutants: &[&'m Mutant],
    results: &mut Results,
    until: usize,
) -> Outcome<Vec<&'m Mutant>> {
    let combined = CombinedBuild::prepare(root, folder, mutants)?;
    let (out, left): (Vec<Id>, Vec<Id>) = (0..mutants.len()).partition(|id| combined.left_out.contains(id));
    for (done, stage) in stages::NAMES.iter().enumerate().take(until) {
        let left: Vec<Id> = left
            .iter()
            .copied()
            .filter(|id| results.stages_of(mutants[*id]) <= done)
            .collect();
        if left.is_empty() {
            continue;
        }
        let began = Instant::now();
        let suites = stages::suites(stage, &combined.tree, &folder.join("traces"))?;
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "{stage} on {} mutants; built and traced in {seconds:.0} s",
            left.len()
        );
        let progress = Mutex::new((&mut *results, 0));
        parallel::map(&left, |_, id| {
            let began = Instant::now();
            let status = match combined.caught_by(*id, &suites)? {
                Some(how) => Status::Caught {
                    stage: (*stage).to_owned(),
                    how,
                },
                None => Status::Missed { stages: done + 1 },
            };
            let (results, tested) = &mut *progress.lock().map_err(|error| error.to_string())?;
            *tested += 1;
            report(&format!("{tested}/{}", left.len()), mutants[*id], &status, began);
            results.set(mutants[*id], status)
        })?;
    }
    Ok(out.into_iter().map(|id| mutants[id]).collect())
}

fn report(number: &str, mutant: &Mutant, status: &Status, began: Instant) {
    let word = match status {
        Status::Unviable => "does not compile".to_owned(),
        Status::Caught { stage, how } => format!("caught by {stage}: {how}"),
        Status::Missed { stages } => format!("MISSED in {stages} stages"),
    };
    println!(
        "{number} {}:{}: {}: {word} ({:.1} s)",
        mutant.file,
        mutant.line(),
        mutant.mutation,
        began.elapsed().as_secs_f64()
    );
}

fn check(root: &Path, mutants: &[Mutant], results: &Results) -> Outcome {
    let differences = document::compare(&document::reasons(root)?, mutants, results);
    for survivor in &differences.unlisted {
        println!("survivor without a reason in {}: {survivor}", document::PATH);
    }
    for entry in &differences.stale {
        println!("stale entry in {}: {entry}", document::PATH);
    }
    let figures = ModuleCounts::count(mutants, results);
    if figures.tested < figures.mutants {
        return Err(format!(
            "{} of {} mutants were not tested: continue with --resume",
            figures.mutants - figures.tested,
            figures.mutants
        )
        .into());
    }
    if figures.per_mille() < LEAST_CAUGHT {
        return Err(format!(
            "{} of {} viable mutants were caught, which is less than {} %",
            figures.caught(),
            figures.viable(),
            LEAST_CAUGHT / 10
        )
        .into());
    }
    match (differences.unlisted.len(), differences.stale.len()) {
        (0, 0) => Ok(()),
        (unlisted, stale) => Err(format!(
            "{unlisted} survivors have no reason, {stale} entries are stale: add tests, or correct {}",
            document::PATH
        )
        .into()),
    }
}

/// Tests a few mutants in changed functions, and a few patches that vary with each commit.
fn run_changed(root: &Path, folder: &Path, base: &str) -> Outcome {
    let tree = Tree::update(root, folder, "tree")?;
    let commit = changed::commit(root)?;
    let base = if base.is_empty() {
        changed::default_base(root)?
    } else {
        base.to_owned()
    };
    let mut planted = patches::all(root)?;
    patches::check(&tree, &planted)?;
    take_some(&mut planted, PATCHES, &commit, |patch| patch.name.clone());
    patches::run(&tree, &planted, SEEDS)?;

    let mut mutants = changed::since(root, &base, generated::list(root, &tree)?)?;
    let found = mutants.len();
    let reasons = document::reasons(root)?;
    mutants.retain(|mutant| !reasons.contains_key(&(mutant.file.clone(), mutant.mutation.clone())));
    take_some(&mut mutants, MOST_CHANGED, &commit, |mutant| {
        mutant.fingerprint.clone()
    });
    println!(
        "{found} mutants in functions that changed since {base}; testing {}",
        mutants.len()
    );
    let mut results = Results::default();
    let chosen: Vec<&Mutant> = mutants.iter().collect();
    together(root, folder, &chosen, &mut results, stages::NAMES.len())?;
    let survivors = ModuleCounts::count(&mutants, &results).missed;
    if survivors > 0 {
        return Err(format!(
            "{survivors} mutants survived: add tests that catch them, or a reason to {}",
            document::PATH
        )
        .into());
    }
    Ok(())
}

/// Keeps `count` of the items: always the same for one commit, others for the next.
fn take_some<T>(items: &mut Vec<T>, count: usize, commit: &str, name: impl Fn(&T) -> String) {
    items.sort_by_cached_key(|item| scatter(generated::hash(&format!("{commit} {}", name(item)))));
    items.truncate(count);
}

/// Spreads hashes of similar names, which are close to each other, like MurmurHash3.
fn scatter(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_depends_on_the_commit_alone() {
        let chosen = |commit: &str| {
            let mut numbers: Vec<u32> = (0..100).collect();
            take_some(&mut numbers, 3, commit, ToString::to_string);
            numbers
        };
        assert_eq!(chosen("a").len(), 3);
        assert_eq!(chosen("a"), chosen("a"));
        assert_ne!(chosen("a"), chosen("b"));
    }
}
